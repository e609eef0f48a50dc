package catalog

import (
	"slices"
	"strings"
)

// Example returns options that a provider cannot be made without, as the
// configuration spells them, one in a line. It is empty for most.
func Example(name string) string { return examples()[name] }

// OptionNames lists the options a provider takes, in alphabetical order.
func OptionNames(name string) []string {
	for _, e := range entries() {
		if e.name == name {
			return slices.Sorted(slices.Values(e.accepts))
		}
	}
	return nil
}

// SecretVariable is the environment variable that pages and commands name for
// the secret of a provider, one and the same everywhere.
func SecretVariable(name string) string {
	name = strings.TrimSuffix(name, "-webhooks")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_WEBHOOK_SECRET"
}
