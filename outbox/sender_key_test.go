package outbox

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// keep stores keys and returns when they are committed.
func keep(t *testing.T, b *bundle, keys ...SenderKey) {
	t.Helper()
	for _, k := range keys {
		_, err := b.senderKeys.Submit(t.Context(), k)
		require.NoError(t, err)
	}
}

func TestKeysOfSendersAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keep(t, b,
		SenderKey{Source: "bank", ID: "a", Document: []byte("1")},
		SenderKey{Source: "bank", ID: "b", Document: []byte("2")},
		SenderKey{Source: "other", ID: "a", Document: []byte("3")},
		SenderKey{Source: "bank", ID: "a", Document: []byte("4")},
	)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.sender_keys SET proven_at = now() - interval '1 hour' WHERE source = 'bank' AND key_id = 'b'`)
	require.NoError(t, err)

	keys, err := onPool(t, b.pool).SenderKeys(t.Context(), "bank")
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.Equal(t, "a", keys[0].ID)
	require.Equal(t, "4", string(keys[0].Document))
	require.Less(t, keys[0].Age.Minutes(), 30.0)
	require.Equal(t, "b", keys[1].ID)
	require.InDelta(t, 60, keys[1].Age.Minutes(), 10)

	// A key that the sender withdrew is remembered as withdrawn.
	keep(t, b, SenderKey{Source: "bank", ID: "a"})
	keys, err = b.SenderKeys(t.Context(), "bank")
	require.NoError(t, err)
	require.Equal(t, "a", keys[0].ID)
	require.Nil(t, keys[0].Document)
}

func TestKeysOfSendersAreFew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keep(t, b, SenderKey{Source: "other", ID: "k", Document: []byte("1")})
	for i := range 3 * senderKeysOfSource {
		keep(t, b, SenderKey{Source: "bank", ID: fmt.Sprintf("k%02d", i), Document: []byte("1")})
	}
	keys, err := b.SenderKeys(t.Context(), "bank")
	require.NoError(t, err)
	require.Len(t, keys, senderKeysOfSource)
	require.Equal(t, "k23", keys[0].ID)
	require.Equal(t, "k16", keys[senderKeysOfSource-1].ID)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM hooklatch.sender_keys WHERE source = 'other'`))

	// The limit also holds for one batch, in which a key may occur twice.
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	var batch []SenderKey
	for i := range 40 {
		batch = append(batch, SenderKey{Source: "bank", ID: fmt.Sprint("new", i%20), Document: fmt.Append(nil, i)})
	}
	_, err = b.keepSenderKeyBatch(t.Context(), tx, batch)
	require.NoError(t, err)
	var rows int
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM hooklatch.sender_keys WHERE source = 'bank' AND document >= '20'`).Scan(&rows))
	require.Equal(t, senderKeysOfSource, rows)
}
