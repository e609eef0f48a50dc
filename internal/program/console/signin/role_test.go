package signin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/signin"
)

func TestARoleMayWhatThoseBeforeItMay(t *testing.T) {
	t.Parallel()
	for i, has := range signin.Roles() {
		for j, needed := range signin.Roles() {
			require.Equal(t, i >= j, has.May(needed), "does %s include the permissions of %s?", has, needed)
		}
		require.False(t, signin.Role("").May(has))
		require.False(t, has.May(""), "no role may see a page without a role")
		require.False(t, signin.Role("root").May(has))
	}
}
