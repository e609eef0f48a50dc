package config

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/worker/route"
)

// checkRoutes validates each route and the names that it refers to.
func (c *Config) checkRoutes(d *decoder) {
	kinds := make(map[string]string, len(c.Destinations))
	for name, dest := range c.Destinations {
		kinds[name] = dest.kind()
	}
	sources := append(slices.Sorted(maps.Keys(c.Sources)), route.EverySource)
	seen := map[string]int{}
	for i, r := range c.Routes {
		var check option.Check
		at := "routes[" + strconv.Itoa(i) + "]"
		if r.Name != "" {
			check.Name("name", r.Name)
			if first, twice := seen[r.Name]; twice {
				check.Failf("name", r.Name, "is the name of two routes; the other is in line %d", d.origin.line("routes["+strconv.Itoa(first)+"].name"))
			} else {
				seen[r.Name] = i
			}
		}
		for j, from := range r.From {
			check.OneOf("from["+strconv.Itoa(j)+"]", "source", from, sources...)
		}
		d.faults(at, check.Err())
		d.faults(at, r.Validate(kinds))
	}
}
