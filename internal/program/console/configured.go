package console

import "slices"

// Source is a source of the configuration.
type Source struct {
	Name     string
	Provider string
	URL      string   // URL of the endpoint, or only the path if the configuration has no public URL
	Setup    []string // steps to take at the sender
	Notes    []string // pitfalls
	Docs     string   // URL of the sender's documentation; empty if there is none
	Secrets  []string // marks of the secrets: see secret.Value.Mark
	Search   []string // pointers to the values by which events are found
}

// Destination is a destination of the configuration.
type Destination struct {
	Name   string
	Kind   string
	Target string // URL or host, without user, password and query
	Policy string
	// Concurrency is the maximum number of concurrent attempts in a process. Rate is the maximum
	// number that may start per second, minute or hour in all processes, such as 50/s. An empty
	// Rate means no limit.
	Concurrency int
	Rate        string
}

// sourceNames returns the source names that filters offer.
func (c *Console) sourceNames() []string {
	if c.opts.Sources == nil {
		return nil
	}
	var names []string
	for _, s := range c.opts.Sources() {
		names = append(names, s.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// searchedSources returns the names of the sources whose values are indexed.
func (c *Console) searchedSources() []string {
	if c.opts.Sources == nil {
		return nil
	}
	var names []string
	for _, s := range c.opts.Sources() {
		if len(s.Search) > 0 {
			names = append(names, s.Name)
		}
	}
	return names
}

// destinationNames returns the destination names that filters offer.
func (c *Console) destinationNames() []string {
	if c.opts.Destinations == nil {
		return nil
	}
	var names []string
	for _, d := range c.opts.Destinations() {
		names = append(names, d.Name)
	}
	return slices.Sorted(slices.Values(names))
}
