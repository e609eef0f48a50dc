// Package wildcard matches patterns in which "*" matches any run of characters, including an
// empty one. Every other character matches itself. The patterns are for event types in routes
// and lists, and for header names.
package wildcard

import "strings"

// Match reports whether a pattern matches the complete text.
func Match(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == text
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	middle := text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(middle, part)
		if !found {
			return false
		}
		middle = after
	}
	return true
}

var like = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`)

// Like returns the pattern in SQL's LIKE syntax.
func Like(pattern string) string { return like.Replace(pattern) }
