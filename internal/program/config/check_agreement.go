package config

import (
	"strconv"

	"github.com/hooklatch/hooklatch/internal/option"
)

// checkChecks validates each check, and requires distinct names.
func (c *Config) checkChecks(d *decoder) {
	seen := map[string]int{}
	for i, one := range c.Checks {
		at := "checks[" + strconv.Itoa(i) + "]"
		d.faults(at, one.Validate())
		first, twice := seen[one.Name]
		if one.Name == "" || !twice {
			seen[one.Name] = i
			continue
		}
		var check option.Check
		check.Failf("name", one.Name, "is the name of two checks; the other is on line %d", d.origin.line("checks["+strconv.Itoa(first)+"].name"))
		d.faults(at, check.Err())
	}
}
