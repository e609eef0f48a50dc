package firstrun

import (
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

// Source returns the YAML of a provider's source, with each line indented. secret is the text that
// the file contains for the source's secret, such as a reference to a variable.
func Source(d catalog.Description, indent, secret string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:\n%s  provider: %s\n", indent, d.Name, indent, d.Name)
	if !d.Keyless {
		fmt.Fprintf(&b, "%s  secrets: [%s]\n", indent, secret)
	}
	for line := range strings.Lines(d.Example) {
		fmt.Fprintf(&b, "%s  %s\n", indent, strings.TrimRight(line, "\n"))
	}
	return b.String()
}

// Reference returns a quoted reference to an environment variable, as a configuration file uses it
// for a secret: "${VARIABLE}".
func Reference(variable string) string { return `"${` + variable + `}"` }
