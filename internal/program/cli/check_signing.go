package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// signing lists the public keys with which receivers verify v1a signatures. The configuration
// contains only the private keys.
func (c *checkup) signing(cfg *config.Config) {
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		d := cfg.Destinations[name]
		if d.HTTP == nil || d.HTTP.Sign == nil {
			continue
		}
		for _, value := range d.HTTP.Sign.StandardWebhooks {
			if key := destination.SigningPublicKey(value); key != "" {
				c.add(doctor.OK, "signing", fmt.Sprintf("the receiver of destination %q verifies v1a signatures with the public key %s", name, key), "")
			}
		}
	}
}
