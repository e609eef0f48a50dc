package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/doctor"
)

// changedDefaults tells of settings that the file leaves to a default that is
// another than it was, with the line that keeps the old one.
func (c *checkup) changedDefaults(cfg *config.Config) {
	var retried []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		if cfg.Destinations[name].HTTP != nil && !cfg.Given("destinations."+name+".retry_on") {
			retried = append(retried, name)
		}
	}
	if len(retried) > 0 {
		c.add(doctor.OK, "defaults", fmt.Sprintf("%s: the answers of retry_on are tried again (401, 403, 404, 407, 421 and 423; at_most_once: 401, 407 and 421); "+
			"before, the first of them was final", strings.Join(retried, ", ")), "to keep it final, write in the destination: retry_on: []")
	}
}
