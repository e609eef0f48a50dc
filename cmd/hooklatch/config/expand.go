package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var (
	envReference = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
	envName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// YAML ends an unquoted scalar inside {...} at the first brace, so ${NAME}
// would need quotes there. While the file is parsed the braces of references
// are replaced by two characters of the private use area.
const (
	maskOpen  = "\ue000"
	maskClose = "\ue001"
)

var unmask = strings.NewReplacer(maskOpen, "{", maskClose, "}")

func maskReferences(text string) string {
	return envReference.ReplaceAllStringFunc(text, func(ref string) string {
		return "$" + maskOpen + ref[2:len(ref)-1] + maskClose
	})
}

// expand replaces every ${NAME} of text by the environment variable NAME, and
// $${ by a literal ${. Values are taken as they are: what stands in a variable
// is not expanded again and cannot change the structure of the file.
func expand(text string, env LookupEnv) (result string, expanded bool, err error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), expanded, nil
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(literal + "${")
			text = after
			continue
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !envName.MatchString(name) {
			return "", true, errors.New("has a ${ that is no reference; allowed: ${NAME} for an environment variable, $${ for a literal ${")
		}
		value, ok := env(name)
		if !ok {
			return "", true, fmt.Errorf("environment variable %s is not set", name)
		}
		b.WriteString(before + value)
		text, expanded = rest, true
	}
}
