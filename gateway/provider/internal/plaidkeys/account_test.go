package plaidkeys

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

func TestAccountsOfPlaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Account{
		"a1:b2":         {"production.plaid.com", "a1", "b2"},
		"sandbox:a1:b2": {"sandbox.plaid.com", "a1", "b2"},
	} {
		account, err := ReadAccount(secret.New(text))
		require.NoError(t, err)
		require.Equal(t, want, account)
	}
}
