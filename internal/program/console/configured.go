package console

import "slices"

// Source is a source of the configuration.
type Source struct {
	Name     string
	Provider string
	URL      string   // of its endpoint, or only the path if the configuration has no public URL
	Setup    []string // steps to take at the sender
	Notes    []string // pitfalls
	Docs     string   // URL of the sender's documentation. Empty: none.
	Secrets  int      // number of secrets
}

// Destination is a destination of the configuration.
type Destination struct {
	Name   string
	Kind   string
	Target string // URL or host, without user, password and query
	Policy string
	// Concurrency is how many attempts may run concurrently in a process. Rate is how many may
	// start per second, minute or hour in all processes, such as 50/s. Empty: no limit.
	Concurrency int
	Rate        string
}

// sourceNames returns the names of sources that filters offer.
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

// destinationNames returns the names of destinations that filters offer.
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
