package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// A body that is not a valid email is refused in the application's transaction, and the error
// explains the reason.
func TestAMailIsCheckedWhenItIsEnqueued(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, config_hash) VALUES ('mail', 'email', 'dst_mail', ''), ('app', 'http', 'dst_app', '')`)
	require.NoError(t, err)
	for body, wrong := range map[string]string{
		`{"to": ["ann@example.com"], "subject": "Hello", "text": "Hi"}`:                  "",
		`{"to": ["Ann <ann@example.com>", "b@example.com"], "subject": "", "html": "x"}`: "",
		`[]`:                           "it is no object",
		`{"order": 1001}`:              "it has an unknown member 'order'",
		`{"subject": "", "text": "x"}`: "to must be a list of 1 to 100 addresses",
		`{"to": "ann@example.com", "subject": "", "text": "x"}`:  "to must be a list of 1 to 100 addresses",
		`{"to": [], "subject": "", "text": "x"}`:                 "to must be a list of 1 to 100 addresses",
		`{"to": [1], "subject": "", "text": "x"}`:                "to must be a list of 1 to 100 addresses",
		`{"to": ["a@example.com"], "text": "x"}`:                 "subject must be a text",
		`{"to": ["a@example.com"], "subject": 1, "text": "x"}`:   "subject must be a text",
		`{"to": ["a@example.com"], "subject": "", "text": 1}`:    "text and html must be texts",
		`{"to": ["a@example.com"], "subject": "", "text": ""}`:   "text and html are both empty",
		`{"to": ["a@example.com"], "subject": "", "html": null}`: "text and html must be texts",
	} {
		_, err := pool.Exec(t.Context(), `SELECT hooklatch.enqueue('mail', md5($1::text), $1::text::jsonb)`, body)
		if wrong == "" {
			require.NoError(t, err, body)
			continue
		}
		require.ErrorContains(t, err, "enqueue: not a mail: "+wrong, body)
	}
	_, err = pool.Exec(t.Context(), `SELECT hooklatch.enqueue('app', 'one', '{"order": 1001}')`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `SELECT hooklatch.enqueue('gone', 'one', '{"order": 1001}')`)
	require.ErrorContains(t, err, "unknown destination 'gone'")
}
