package destination

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestStatementRoundTrip(t *testing.T) {
	t.Parallel()
	text := `<a> "b"`
	body, err := Statement{Name: "credit", Params: []*string{&text, nil}}.Encode()
	require.NoError(t, err)
	require.Equal(t, `{"statement":"credit","params":["<a> \"b\"",null]}`, string(body))
	s, err := DecodeStatement(body)
	require.NoError(t, err)
	require.Equal(t, Statement{Name: "credit", Params: []*string{&text, nil}}, s)
	for _, bad := range []string{``, `{}{}`, `{"params":[1]}`, `{"sql":"DROP TABLE a"}`} {
		_, err := DecodeStatement([]byte(bad))
		require.Error(t, err, bad)
	}
	nul := "\x00"
	_, err = Statement{Params: []*string{&nul}}.Encode()
	require.Error(t, err)
}

func TestSQLOptionsRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]SQLOptions{
		`sql destination: Name is required`:                                          {},
		`sql destination "a": has no statements; give at least one, by name`:         {Name: "a"},
		`sql destination "a": statements.s: is empty; an SQL statement is expected`:  {Name: "a", Statements: map[string]string{"s": " "}},
		`sql destination "a": timeout: -1ns is too short; it must be longer than 0s`: {Name: "a", Statements: map[string]string{"s": "SELECT 1"}, Timeout: -1},
		`sql destination "a": role: has a NUL character`:                             {Name: "a", Statements: map[string]string{"s": "SELECT 1"}, Role: "\x00"},
	} {
		_, err := NewSQL(o)
		require.EqualError(t, err, want)
	}
	s, err := NewSQL(SQLOptions{Name: "a", Statements: map[string]string{"s": "SELECT 1"}})
	require.NoError(t, err)
	require.Equal(t, ledger.VerdictRefused, s.Send(t.Context(), testEffect()).Verdict)
}
