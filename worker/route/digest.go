package route

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// digestLength is the length of a Digest, in hexadecimal digits.
const digestLength = 16

// Digest identifies the decisions of routes. It covers the effects of each event with target and
// policy, the sources whose events are left to handlers, and the maximum payload sizes of sources
// (see Options.MaxBody). It does not cover queues, secrets or other settings of sources. Two
// processes with the same digest plan the same effects for an event.
func Digest(routes []Route, targets []Target, leftToHandlers []string, maxBodies map[string]int64) string {
	type decision struct {
		Route  Route
		Policy string
	}
	decisions := make([]decision, 0, len(routes))
	for _, r := range routes {
		if r.Forward != nil {
			r.Forward = new(*r.Forward)
			r.Forward.Families = nil
		}
		if r.Refetch != nil {
			r.Refetch = new(*r.Refetch)
			r.Refetch.AllowPrivate = nil
		}
		d := decision{Route: r}
		if at := slices.IndexFunc(targets, func(t Target) bool { return t.Name == r.To }); at >= 0 {
			d.Policy = string(targets[at].Policy)
		}
		decisions = append(decisions, d)
	}
	text, err := json.Marshal(decisions) // maps are sorted, and secrets become <secret>
	if err != nil {
		panic(err) // impossible for strings, and lists and maps of strings
	}
	for _, source := range slices.Sorted(slices.Values(leftToHandlers)) {
		text = append(text, "\x00"+source...)
	}
	for _, source := range slices.Sorted(maps.Keys(maxBodies)) {
		text = fmt.Appendf(text, "\x00%s=%d", source, maxBodies[source])
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:digestLength]
}
