package worker

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
)

// What people write who know other languages, outside of quotes.
var (
	celText    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	celEquals  = regexp.MustCompile(`(?:^|[^=!<>])=(?:$|[^=])`)
	celMissing = regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	celField   = regexp.MustCompile(`^undefined field '`)
)

// spellings are words and signs of other languages, and how CEL writes them.
var spellings = []struct {
	given *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`===`), "CEL writes == for ==="},
	{celEquals, "CEL writes == for ="},
	{regexp.MustCompile(`<>`), "CEL writes != for <>"},
	{regexp.MustCompile(`(?i)\band\b`), "CEL writes && for and"},
	{regexp.MustCompile(`(?:^|[^&])&(?:$|[^&])`), "CEL writes && for &"},
	{regexp.MustCompile(`(?i)\bor\b`), "CEL writes || for or"},
	{regexp.MustCompile(`(?:^|[^|])\|(?:$|[^|])`), "CEL writes || for |"},
	{regexp.MustCompile(`(?i)\bnot\b`), "CEL writes ! for not"},
	{regexp.MustCompile(`(?i)\blike\b`), `CEL has x.contains("text"), x.startsWith("text") and x.matches("expression") for like`},
	{regexp.MustCompile(`(?i)\bis\s+(?:not\s+)?null\b`), "CEL writes == null for is null"},
}

// spellingHint says how CEL writes what the text of a broken expression has of
// other languages, or nothing.
func spellingHint(text string) string {
	bare := celText.ReplaceAllString(text, `""`)
	var hints []string
	for _, s := range spellings {
		if s.given.MatchString(bare) {
			hints = append(hints, s.hint)
		}
	}
	return strings.Join(hints, "; ")
}

// nameHint says which names there are, where an expression of this environment
// uses one that does not exist.
func nameHint(env *cel.Env, text, message string) string {
	if celField.MatchString(message) {
		return "; event has id, type, source, provider, occurred_at and received_at"
	}
	missing := celMissing.FindStringSubmatch(message)
	if len(missing) < 2 || strings.Contains(text, missing[1]+"(") { // a function
		return ""
	}
	if missing[1] == "current" {
		return "; current is known with refetch only, and not to when, key, order_by and latest_by"
	}
	var names []string
	for _, v := range env.Variables() {
		names = append(names, v.Name())
	}
	last := len(names) - 1
	return fmt.Sprintf("; the variables are %s and %s, and text stands in quotes", strings.Join(names[:last], ", "), names[last])
}
