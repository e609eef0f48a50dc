package firstrun

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// variable is one line of .env, with the lines of its comment.
type variable struct {
	name    string
	value   secret.Value
	comment []string
}

// plainValue matches values that a shell, Compose and systemd read unchanged.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]*$`)

// checkDotenv refuses a value that a shell, Compose or systemd would not read unchanged, even in
// quotes.
func checkDotenv(name string, value secret.Value) error {
	if strings.ContainsFunc(value.Reveal(), func(r rune) bool { return r < ' ' || r == '\'' || r == 0x7f }) {
		return fmt.Errorf("%s has a single quote, a line break or another control character, which .env cannot hold: in a URL, write %%27 for a single quote", name)
	}
	return nil
}

// line returns the line of the variable, after the lines of its comment. quote is false for a file
// that kubectl reads, because kubectl reads quotes as part of the value.
func (v variable) line(quote bool) string {
	var b strings.Builder
	for _, comment := range v.comment {
		fmt.Fprintf(&b, "# %s\n", comment)
	}
	value := v.value.Reveal()
	if quote && !plainValue.MatchString(value) {
		value = "'" + value + "'"
	}
	fmt.Fprintf(&b, "%s=%s\n", v.name, value)
	return b.String()
}

// ReadDotenv returns the variables of an .env file as a shell reads them, for the forms that this
// package writes.
func ReadDotenv(text string) map[string]secret.Value {
	values := map[string]secret.Value{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !found || strings.HasPrefix(name, "#") {
			continue
		}
		for _, quote := range []string{"'", `"`} {
			if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
				value = value[1 : len(value)-1]
				break
			}
		}
		values[name] = secret.New(value)
	}
	return values
}

// Variables returns the names of the variables of an .env file, in alphabetical order.
func Variables(text string) []string {
	return slices.Sorted(maps.Keys(ReadDotenv(text)))
}

// mergeDotenv returns an earlier .env file with new variables at its end. It omits variables that
// the file already defines, and changes no line of the file.
func mergeDotenv(earlier string, variables []variable, quote bool) string {
	kept := ReadDotenv(earlier)
	var b strings.Builder
	if earlier != "" {
		b.WriteString(strings.TrimRight(earlier, "\n") + "\n")
	}
	for _, v := range variables {
		if _, defined := kept[v.name]; !defined {
			b.WriteString(v.line(quote))
		}
	}
	return b.String()
}
