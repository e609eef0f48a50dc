package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	program "github.com/hooklatch/hooklatch/cmd/hooklatch"
)

func TestEveryCommandOfComposeIsAccepted(t *testing.T) {
	t.Parallel()
	for service, command := range composeCommands(t) {
		require.NoError(t, program.Accepts(command), service)
	}
	require.Error(t, program.Accepts([]string{"migrate"}))
	require.Error(t, program.Accepts([]string{"gateway", "--bogus"}))
	require.Error(t, program.Accepts([]string{"bogus"}))
}
