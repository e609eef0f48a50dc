package provider

import "slices"

// Example returns options that a provider cannot be made without, as the
// configuration spells them, one in a line. It is empty for most.
func Example(name string) string { return examples()[name] }

// OptionNames lists the options a provider takes, in alphabetical order.
func OptionNames(name string) []string {
	for _, e := range catalog() {
		if e.name == name {
			return slices.Sorted(slices.Values(e.accepts))
		}
	}
	return nil
}
