package option_test

import (
	"fmt"
	"time"

	"github.com/hooklatch/hooklatch/internal/option"
)

// schedule is an options struct like those in Hooklatch's packages.
type schedule struct {
	Max         time.Duration `yaml:"max"`
	MaxAttempts int           `yaml:"max_attempts"`
}

func (s schedule) Validate() error {
	var c option.Check
	c.Positive("max", s.Max)
	c.AtLeast("max_attempts", int64(s.MaxAttempts), 1)
	return c.Err()
}

// A struct that contains other options adds its own path to their faults.
func Example() {
	var c option.Check
	c.OneOf("policy", "policy", "once", "at_least_once", "at_most_once")
	c.Within("retry", schedule{Max: -time.Second}.Validate())
	for _, fault := range option.FaultsOf("destinations.app", c.Err()) {
		fmt.Println(fault)
	}
	// Output:
	// destinations.app.policy: "once" is not a policy; allowed: at_least_once, at_most_once
	// destinations.app.retry.max: -1s is too short; it must be longer than 0s
	// destinations.app.retry.max_attempts: 0 is too small; it must be at least 1
}
