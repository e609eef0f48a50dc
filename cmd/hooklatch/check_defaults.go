package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/doctor"
)

// changedDefaults warns of settings that the file leaves to a default that is
// another than it was, with the line that keeps the old one. The release in
// which each changed stands in CHANGELOG.md.
func (c *checkup) changedDefaults(cfg *config.Config) {
	var retried, oneBody, aged, guarded []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		if cfg.Destinations[name].HTTP != nil && !cfg.Given("destinations."+name+".retry_on") {
			retried = append(retried, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		provider := cfg.Sources[name].Provider
		guardLeft, toleranceLeft := !cfg.Given("sources."+name+".replay_guard"), !cfg.Given("sources."+name+".tolerance")
		if provider == "paypal" && guardLeft {
			oneBody = append(oneBody, name)
		}
		if provider == "paypal" && toleranceLeft {
			aged = append(aged, name)
		}
		if provider == "zendesk" && guardLeft {
			guarded = append(guarded, name)
		}
	}
	c.changedDefault(retried, "the answers of retry_on are tried again (401, 403, 404, 407, 421 and 423; at_most_once: 401, 407 and 421); "+
		"before, the first of them was final", "to keep it final, write in the destination: retry_on: []")
	c.changedDefault(oneBody, "a transmission is taken with one body only; before, it was taken with any of the same CRC-32",
		"to take them all, write in the source: replay_guard: off")
	c.changedDefault(aged, "a transmission is taken for 3 days; before, it was taken forever",
		"to take it forever, write in the source: tolerance: off")
	c.changedDefault(guarded, "a signature that comes again with new ids is suspected as a replay; before, nothing was remembered",
		"to remember nothing, write in the source: replay_guard: off")
	c.changedInFlight(cfg)
}

// changedInFlight concerns those who have set how much is in flight: one source,
// and one address, could have had all of it.
func (c *checkup) changedInFlight(cfg *config.Config) {
	if !cfg.Given("gateway.max_in_flight") {
		return
	}
	for _, field := range []string{"max_in_flight_per_source", "max_unproven_per_address"} {
		if !cfg.Given("gateway." + field) {
			c.changedDefault([]string{"gateway." + field}, "it is a part of max_in_flight; before, there was no such limit",
				fmt.Sprintf("to have no limit, write under gateway: %s: %d", field, cfg.Gateway.MaxInFlight))
		}
	}
}

func (c *checkup) changedDefault(concerned []string, change, keep string) {
	if len(concerned) > 0 {
		c.add(doctor.OK, "defaults", strings.Join(concerned, ", ")+": "+change, keep)
	}
}
