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
	require.EqualError(t, c.Err(), "[1]: 408 is wrong", "the one that was found stays as it was")
	require.EqualError(t, FaultsOf("sql", errors.New("cannot be used")), "sql: cannot be used")
}

func TestURLKeepsItsPassword(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://hooks.example.com:8443/in":    "",
		"https://me:canary@hooks.example.com":  "url: has a user or password; give them in fields of their own",
		"https://me:canary@hooks.example.com%": "url: is not a URL; allowed: an http:// or https:// URL with a host",
		"ftp://hooks.example.com":              `url: "ftp://hooks.example.com" is not a URL of the web; allowed: an http:// or https:// URL with a host`,
		"https://hooks.example.com:70000":      `url: "https://hooks.example.com:70000" has port 70000; allowed: up to 65535`,
		"https://hooks.example.com/#top":       `url: "https://hooks.example.com/#top" has a fragment, which no server sees`,
	} {
		var c Check
		_, ok := c.URL("url", given)
		require.Equal(t, want == "", ok, given)
		if want != "" {
			require.EqualError(t, c.Err(), want)
		}
	}
}
