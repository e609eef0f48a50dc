package config_test

import (
	"fmt"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

func ExampleParse() {
	file := []byte(`
gateway: {max_body: 1 megabyte}
sources:
  stripe: {provider: stripe, secrets: ["${STRIPE_WEBHOOK_SECRET}"]}
routes:
  - {name: all, from: strip, to: app}
`)
	environment := func(string) (string, bool) { return "", false }

	_, err := config.Parse("hooklatch.yaml", file, environment)
	fmt.Println(err)
	// Output:
	// hooklatch.yaml:2: gateway.max_body: "1 megabyte" is not a size; allowed: a whole number of bytes, or one with B, kB, MB, GB, KiB, MiB or GiB, like 1MiB
	// hooklatch.yaml:4: sources.stripe.secrets[0]: environment variable STRIPE_WEBHOOK_SECRET is not set
	// hooklatch.yaml:6: routes[0].from: "strip" is not a source; did you mean "stripe"? allowed: stripe, *
	// hooklatch.yaml:6: routes[0].to: "app" is not a destination; there are none
}
