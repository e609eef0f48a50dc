package torture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Deployments begin with the first role that they name.
func TestServicesComeInTheOrderOfTheirRoles(t *testing.T) {
	t.Parallel()
	s := &services{all: []*service{{name: "application-1", role: roleApplication}, {name: "gateway-1", role: roleGateway}, {name: "worker-1", role: roleWorker}, {name: "worker-2", role: roleWorker}}}
	var names []string
	for _, one := range s.of(roleWorker, roleGateway) {
		names = append(names, one.name)
	}
	require.Equal(t, []string{"worker-1", "worker-2", "gateway-1"}, names)
}
