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

// bareReference matches a shell-style variable, which the configuration does not support: the whole
// text is a $ and a name in capitals. With another $ in front, the text is a literal.
var bareReference = regexp.MustCompile(`^\$?\$([A-Z_][A-Z0-9_]*)$`)

// checkBare returns false for a variable without braces, and reports it. The report shows the text
// of a secret field only if such a variable is set: any other text may be the secret itself.
func (d *decoder) checkBare(path, text string, isSecret bool) bool {
	found := bareReference.FindStringSubmatch(text)
	if found == nil || strings.HasPrefix(text, "$$") {
		return true
	}
	name := found[1]
	if _, set := d.env(name); isSecret && !set {
		d.reportf(path, "is a $ and a name; write ${NAME} for an environment variable, or put another $ in front of a text that begins with $")
		return false
	}
	d.reportf(path, "%s is not a reference to an environment variable; write ${%s}, or $%s for the text itself", quote(text), name, text)
	return false
}

// YAML ends an unquoted scalar inside {...} at the first brace, so ${NAME} would need quotes there.
// While the parser runs, two characters of the private use area therefore stand for the braces of
// references.
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

// NotSet ends the message of a Problem about an environment variable that is not set: the user must
// correct the environment, not the line.
const NotSet = "is not set"

// expand replaces every ${NAME} in text with the environment variable NAME, and $${ with a literal
// ${. A text that is $$NAME becomes $NAME. The value of a variable is not expanded again and cannot
// change the structure of the file. The result expanded reports whether text refers to a variable.
func expand(text string, env LookupEnv) (result string, expanded bool, err error) {
	if strings.HasPrefix(text, "$$") && bareReference.MatchString(text) {
		return text[1:], false, nil
	}
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
			return "", true, errors.New("has a ${ that is not a reference; allowed: ${NAME} for an environment variable, $${ for a literal ${")
		}
		value, ok := env(name)
		if !ok {
			return "", true, fmt.Errorf("environment variable %s %s", name, NotSet)
		}
		b.WriteString(before + value)
		text, expanded = rest, true
	}
}
