package config

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/worker/route"
)

// checkRoutes validates each route and the names that it refers to, and requires distinct names.
func (c *Config) checkRoutes(d *decoder) {
	seen := map[string]int{}
	for i, r := range c.Routes {
		at := "routes[" + strconv.Itoa(i) + "]"
		if first, twice := seen[r.Name]; twice && r.Name != "" {
			var check option.Check
			check.Failf("name", r.Name, "is the name of two routes; the other is on line %d", d.origin.line("routes["+strconv.Itoa(first)+"].name"))
			d.faults(at, check.Err())
		} else {
			seen[r.Name] = i
		}
		c.checkRoute(d, at, r)
	}
}

func (c *Config) checkRoute(d *decoder, at string, r route.Route) {
	kinds := make(map[string]string, len(c.Destinations))
	for name, dest := range c.Destinations {
		kinds[name] = dest.kind()
	}
	var check option.Check
	if r.Name != "" {
		check.Name("name", r.Name)
	}
	sources := append(slices.Sorted(maps.Keys(c.Sources)), route.EverySource)
	for j, from := range r.From {
		check.OneOf("from["+strconv.Itoa(j)+"]", "source", from, sources...)
	}
	d.faults(at, check.Err())
	d.faults(at, r.Validate(kinds))
}
