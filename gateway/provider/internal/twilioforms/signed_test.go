package twilioforms

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestTwilioURLs covers the spellings that twilio-node accepts beyond those in the vectors.
func TestTwilioURLs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][]string{
		"https://a.example/x":      {"https://a.example/x", "https://a.example:443/x"},
		"http://a.example/x":       {"http://a.example/x", "http://a.example:80/x"},
		"https://a.example:8443/x": {"https://a.example/x", "https://a.example:8443/x"},
		"http://[::1]:8080/x":      {"http://[::1]/x", "http://[::1]:8080/x"},
		"https://a.example/x?b=1+2&a=(')&b=3&c": {
			"https://a.example/x?b=1+2&a=(')&b=3&c", "https://a.example:443/x?b=1+2&a=(')&b=3&c",
			"https://a.example/x?b=1%202&b=3&a=(')&c=", "https://a.example:443/x?b=1%202&b=3&a=(')&c=",
		},
		"https://a.example/x?e=%zz&p=%2B%7E": {
			"https://a.example/x?e=%zz&p=%2B%7E", "https://a.example:443/x?e=%zz&p=%2B%7E",
			"https://a.example/x?e=%25zz&p=%2B~", "https://a.example:443/x?e=%25zz&p=%2B~",
		},
	} {
		require.ElementsMatch(t, want, URLs(prooftest.URL(given)), given)
	}
}

// TestTwilioParams checks that sortedParams reads fields as payload.ParseForm does.
func TestTwilioParams(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"":                      "",
		"b=2&a=1":               "a1b2",
		"a=2&a=1&a=2&b=":        "a1a2b",
		"a+b=%2B&&c":            "a b+c",
		"a=1=2":                 "a1=2",
		"A=1&a=2&%C3%A9=3&aa=4": "A1a2aa4é3",
		"b=%zz%41&%=1&a=1;b=2":  "%1a1;b=2b%zzA",
	} {
		require.Equal(t, want, string(sortedParams(form)), form)
	}
}
