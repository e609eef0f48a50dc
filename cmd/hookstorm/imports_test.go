package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The packages of this module must not depend on certain other packages, for the reasons listed
// here. The product's module does not depend on this module and checks its own dependencies.
func TestNothingDependsOnWhatItMustNot(t *testing.T) {
	t.Parallel()
	for _, rule := range []struct{ of, forbidden, reason string }{
		{"./model", "github.com/jackc/pgx", "the model is a specification: it runs none of the code it describes"},
		{".", "testing", "a binary that links testing has its flags and its init"},
		{".", "github.com/stretchr/testify", "test helpers stay out of programs"},
		{".", "github.com/hooklatch/hooklatch/schema/pgtest", "test helpers stay out of programs"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", rule.of).Output()
		require.NoError(t, err)
		for dep := range strings.Lines(string(out)) {
			dep = strings.TrimSpace(dep)
			require.False(t, dep == rule.forbidden || strings.HasPrefix(dep, rule.forbidden+"/"), "%s depends on %s: %s", rule.of, dep, rule.reason)
		}
	}
}
