package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// renewBefore is the time before a certificate's expiry during which the check command warns.
const renewBefore = 14 * 24 * time.Hour

// certificates reports for each configured certificate whether it is valid now, and warns of a
// certificate that expires soon.
func (c *checkup) certificates(cfg *config.Config, now time.Time) {
	pairs, err := app.KeyPairs(cfg)
	if err != nil {
		return // already reported as a configuration problem
	}
	for _, path := range slices.Sorted(maps.Keys(pairs)) {
		ends, begins := pairs[path].Ends(), pairs[path].Begins()
		const renew = "renew it, and reload with: kill -HUP"
		switch {
		case now.After(ends):
			c.add(doctor.Problem, "certificates", fmt.Sprintf("the certificate of %s expired on %s", path, shown(ends)), renew)
		case now.Before(begins):
			c.add(doctor.Problem, "certificates", fmt.Sprintf("the certificate of %s is not valid before %s", path, shown(begins)), "wait, or use the previous certificate")
		case now.Add(renewBefore).After(ends):
			c.add(doctor.Warning, "certificates", fmt.Sprintf("the certificate of %s expires on %s", path, shown(ends)), renew)
		default:
			c.add(doctor.OK, "certificates", fmt.Sprintf("the certificate of %s is valid until %s", path, shown(ends)), "")
		}
	}
}
