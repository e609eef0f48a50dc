package option

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultSaysWhatIsMissingOfTheStructAround(t *testing.T) {
	t.Parallel()
	var c Check
	c.Missing("url", "has no url")
	require.EqualError(t, c.Err(), "has no url")
	require.EqualError(t, FaultsOf("http", c.Err()), "http: has no url")
	require.Empty(t, FaultsOf("http", nil))
}

func TestFaultsOfAnElement(t *testing.T) {
	t.Parallel()
	var c Check
	c.Failf("[1]", 408, "is wrong")
	wrapped := fmt.Errorf("destination: %w", c.Err())
	require.EqualError(t, FaultsOf("retry_on", wrapped), "retry_on[1]: 408 is wrong")
	require.EqualError(t, c.Err(), "[1]: 408 is wrong", "the original fault is unchanged")
	require.EqualError(t, FaultsOf("sql", errors.New("cannot be used")), "sql: cannot be used")
}

func TestURLKeepsItsPassword(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://hooks.example.com:8443/in":    "",
		"https://me:canary@hooks.example.com":  "url: has a user or password; give them in separate fields",
		"https://me:canary@hooks.example.com%": "url: is not a URL; allowed: an http:// or https:// URL with a host",
		"ftp://hooks.example.com":              `url: "ftp://hooks.example.com" is not a web URL; allowed: an http:// or https:// URL with a host`,
		"https://hooks.example.com:70000":      `url: "https://hooks.example.com:70000" has port 70000; allowed: up to 65535`,
		"https://hooks.example.com/#top":       `url: "https://hooks.example.com/#top" has a fragment, which is never sent to a server`,
	} {
		var c Check
		_, ok := c.URL("url", given)
		require.Equal(t, want == "", ok, given)
		if want != "" {
			require.EqualError(t, c.Err(), want)
		}
	}
}

// Each check accepts its bounds and refuses the values next to them. Its text states the
// bounds correctly.
func TestBoundsAreAsTheirTextsSay(t *testing.T) {
	t.Parallel()
	for want, check := range map[string]struct{ wrong, right func(*Check) }{
		"n: 1 is too small; it must be at least 2":      {func(c *Check) { c.AtLeast("n", 1, 2) }, func(c *Check) { c.AtLeast("n", 2, 2) }},
		"n: 3 is too large; it must be at most 2":       {func(c *Check) { c.AtMost("n", 3, 2) }, func(c *Check) { c.AtMost("n", 2, 2) }},
		"n: 101 is not a percentage; allowed: 1 to 100": {func(c *Check) { c.Between("n", 101, 1, 100, "a percentage") }, func(c *Check) { c.Between("n", 100, 1, 100, "a percentage") }},
		"n: 0s is too short; it must be longer than 0s": {func(c *Check) { c.Positive("n", 0) }, func(c *Check) { c.Positive("n", 1) }},
		"n: -1ns is negative; it must be at least 0s":   {func(c *Check) { c.NotNegative("n", -1) }, func(c *Check) { c.NotNegative("n", 0) }},
	} {
		var wrong, right Check
		check.wrong(&wrong)
		check.right(&right)
		require.EqualError(t, wrong.Err(), want)
		require.NoError(t, right.Err(), want)
	}
}
