package route

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
)

// celText matches quoted texts and celEquals a single =. celMissing and celField match CEL's
// messages.
var (
	celText    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	celEquals  = regexp.MustCompile(`(?:^|[^=!<>])=(?:$|[^=])`)
	celMissing = regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	celField   = regexp.MustCompile(`^undefined field '`)
)

// spellings lists words and operators of other languages, with their spelling in CEL.
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

// spellingHint returns CEL's spelling of the words and operators of other languages in a faulty
// expression. Without such words and operators, it returns an empty string.
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

// translations maps names from other languages and products to a Hooklatch variable or function, if
// the spelling differs too much for CEL's own guess.
var translations = map[string]string{
	"data": "body", "json": "body", "payload": "body",
	"count": "size", "len": "size", "length": "size",
	"lower": "lowerAscii", "toLower": "lowerAscii", "toLowerCase": "lowerAscii",
	"upper": "upperAscii", "toUpper": "upperAscii", "toUpperCase": "upperAscii",
	"includes": "contains", "str": "string", "toString": "string",
}

// nameHint returns a hint, such as the existing names, if the message is about a name that does
// not exist in this environment. Otherwise it returns an empty string.
func nameHint(env *cel.Env, text, message string) string {
	if celField.MatchString(message) {
		return "; event has id, type, source, provider, occurred_at, received_at, origin, altered and age"
	}
	missing := celMissing.FindStringSubmatch(message)
	if missing == nil {
		return ""
	}
	name := missing[1]
	meant := ""
	if word, ok := translations[name]; ok && !strings.Contains(message, "did you mean") {
		meant = fmt.Sprintf(" (did you mean '%s'?)", word)
	}
	isFunction := strings.Contains(text, name+"(")
	switch {
	case isFunction && name == "now":
		return "; expressions cannot read a clock; event.received_at is the time at which the event arrived"
	case isFunction:
		return meant + "; docs/expressions.md lists the functions"
	case name == "current":
		return "; current exists only with refetch, and not in when, key, order_by and latest_by"
	}
	var names []string
	for _, v := range env.Variables() {
		names = append(names, v.Name())
	}
	last := len(names) - 1
	return fmt.Sprintf("%s; the variables are %s and %s, and text needs quotes", meant, strings.Join(names[:last], ", "), names[last])
}
