package catalog

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// Two events have different keys if they differ in any value by which their sender
// distinguishes events. All attempts of one event have the same key.
func TestKeysHaveAllThatDistinguishesEvents(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := deliveriesOf(t, name).samples
			require.NotEmpty(t, of.Distinct, "declare the places that distinguish events")
			p := provide(t, name, configured(t)[name])
			seen := map[string]bool{}
			for _, r := range differing(t, p, name) {
				id := onlyID(t, p, r)
				if id == "" || id != onlyID(t, p, r) { // no event, several events, or a new key for each reading
					continue
				}
				places := placesOf(r)
				group := groupOf(of.Distinct, places)
				for _, at := range places {
					isAttempt := slices.Contains(of.Attempt, at.general())
					if !isAttempt && !slices.Contains(group, at.general()) && (at[0] != '/' || !slices.Contains(group, "*")) {
						continue
					}
					seen[at.general()] = true
					changed, err := at.with(r, another(t, at, r))
					require.NoError(t, err, at)
					if isAttempt {
						require.Equal(t, id, onlyID(t, p, changed), "%s changes between attempts, so the key must not depend on it", at)
					} else {
						require.NotEqual(t, id, onlyID(t, p, changed), "%s distinguishes events, so the key must depend on it", at)
					}
				}
			}
			for _, at := range append(slices.Concat(of.Distinct...), of.Attempt...) {
				require.True(t, at == "*" || at[0] == '?' || seen[at], "no delivery has %s", at)
			}
		})
	}
}

// onlyID returns the key of a delivery's only event, or "" if the delivery does not have
// exactly one event.
func onlyID(t *testing.T, p *provider.Provider, r *provider.Request) string {
	t.Helper()
	events, err := p.Events(r)
	require.NoError(t, err)
	if len(events) != 1 {
		return ""
	}
	return events[0].ID
}

// groupOf returns the first group whose places all exist in a delivery.
func groupOf(groups [][]string, places []place) []string {
	for _, group := range groups {
		if !slices.ContainsFunc(group, func(at string) bool {
			return at != "*" && !slices.ContainsFunc(places, func(p place) bool { return p.general() == strings.TrimPrefix(at, "?") })
		}) {
			return group
		}
	}
	return nil
}

// differing returns a provider's samples and its accepted deliveries in testdata. It leaves out
// deliveries to a source with other options, and deliveries whose names contain the word "moved".
func differing(t *testing.T, p *provider.Provider, name string) []*provider.Request {
	t.Helper()
	var all []*provider.Request
	for _, kind := range append([]string{""}, deliveriesOf(t, name).samples.Types...) {
		all = append(all, signedSample(t, p, kind, "evt_1"))
	}
	for _, c := range deliveriesOf(t, name).cases {
		if c.kind == "accepted" && !strings.Contains(c.name, "moved") && c.source.Options == deliveriesOf(t, name).source.Options {
			_, _, r := c.received(t, name)
			all = append(all, r)
		}
	}
	return all
}

// another returns a different value of the same kind as the value at a place.
func another(t *testing.T, at place, r *provider.Request) any {
	t.Helper()
	switch {
	case at == "form:bt_payload":
		fields, err := url.ParseQuery(string(r.Body))
		require.NoError(t, err)
		text, err := base64.StdEncoding.DecodeString(fields.Get("bt_payload"))
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(text), "<subject>", "<subject><another/>", 1)))
	case at[0] != '/':
		return "another"
	}
	body, err := decoded(r.Body)
	require.NoError(t, err)
	switch value := at.of(body).(type) {
	case string:
		return value + "2"
	case json.Number:
		return json.Number("7" + strings.TrimPrefix(value.String(), "-"))
	case bool:
		return !value
	case nil:
		return "another"
	}
	return map[string]any{"another": 1}
}
