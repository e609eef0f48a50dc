package console

import "slices"

// Source is one of the configuration.
type Source struct {
	Name     string
	Provider string
	URL      string   // of its endpoint, or the path on the gateway where nobody said
	Setup    []string // steps at the sender's side
	Notes    []string // pitfalls
	Docs     string   // of the sender. Empty: there are none.
	Secrets  int      // how many it has
}

// Destination is one of the configuration.
type Destination struct {
	Name   string
	Kind   string
	Target string // URL or host, without user, password and query
	Policy string
	// Concurrency is how many attempts run at once in a process, and Rate how many start
	// in a second, minute or hour in all, like 50/s. Empty: as many as may.
	Concurrency int
	Rate        string
}

// sourceNames are those that filters offer.
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

// destinationNames are those that filters offer.
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
