package torture

import (
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/places"
)

// places returns the failpoints that a process of a role passes.
func (w *world) places(role role) []string {
	return slices.DeleteFunc(places.All(), func(name string) bool { return atGateway(name) != (role == roleGateway) })
}

// atGateway reports whether gateways pass a failpoint. Workers pass all other failpoints.
func atGateway(name string) bool {
	return strings.HasPrefix(name, "accept.") || strings.HasPrefix(name, "gateway.")
}
