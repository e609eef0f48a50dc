package pgwire_test

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// follow sends messages in pieces of the given size and returns the requests that they form.
func follow(t *testing.T, piece int, messages ...pgproto3.FrontendMessage) (requests []*pgwire.Request) {
	t.Helper()
	var stream []byte
	for _, message := range messages {
		var err error
		stream, err = message.Encode(stream)
		require.NoError(t, err)
	}
	var splitter pgwire.Splitter
	var tracker pgwire.Requests
	whole := bytes.Clone(stream)
	for len(stream) > 0 {
		n := min(piece, len(stream))
		splitter.Feed(stream[:n])
		stream = stream[n:]
		for {
			message, err := splitter.Next()
			require.NoError(t, err)
			if message == nil {
				break
			}
			request, err := tracker.Add(message)
			require.NoError(t, err)
			if request != nil {
				requests = append(requests, request)
			}
		}
	}
	var seen []byte
	for _, request := range requests {
		seen = append(seen, request.Bytes...)
	}
	require.Equal(t, whole, seen, "every byte belongs to one request")
	return requests
}

func TestRequestsCarryTheSQLTheyExecute(t *testing.T) {
	t.Parallel()
	for _, piece := range []int{1, 3, 7, 4096} {
		requests := follow(t, piece,
			&pgproto3.Query{String: "begin"},
			// The statement is prepared under a name and described, but not executed.
			&pgproto3.Parse{Name: "s1", Query: "INSERT 1"}, &pgproto3.Describe{ObjectType: 'S', Name: "s1"}, &pgproto3.Sync{},
			&pgproto3.Bind{PreparedStatement: "s1", Parameters: [][]byte{[]byte("commit")}}, &pgproto3.Execute{}, &pgproto3.Sync{},
			// The pipeline executes two statements, one with a named portal.
			&pgproto3.Parse{Query: "SELECT 2"},
			&pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p"},
			&pgproto3.Bind{PreparedStatement: "s1"}, &pgproto3.Execute{}, &pgproto3.Sync{},
			// The next pipeline is flushed in the middle.
			&pgproto3.Bind{PreparedStatement: "s1"}, &pgproto3.Execute{}, &pgproto3.Flush{},
			&pgproto3.Sync{},
			&pgproto3.Close{ObjectType: 'S', Name: "s1"}, &pgproto3.Sync{},
			&pgproto3.Query{String: "commit"},
			&pgproto3.Terminate{},
		)
		type want struct {
			sql      []string
			answered bool
		}
		var got []want
		for _, request := range requests {
			got = append(got, want{request.SQL, request.Answered})
		}
		require.Equal(t, []want{
			{[]string{"begin"}, true},
			{nil, true},
			{[]string{"INSERT 1"}, true},
			{[]string{"SELECT 2", "INSERT 1"}, true},
			{[]string{"INSERT 1"}, false},
			{nil, true},
			{nil, true},
			{[]string{"commit"}, true},
			{nil, false},
		}, got)
		require.True(t, requests[len(requests)-1].GoodBye)
	}
}

func TestCommitIsRecognised(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"commit", "COMMIT;", " Commit Work ;\n", "END", "end transaction", "commit and no chain"} {
		require.True(t, pgwire.IsCommit(sql), sql)
	}
	for _, sql := range []string{"", "begin", "commit prepared 'x'", "rollback", "select 'commit'", "commit; begin"} {
		require.False(t, pgwire.IsCommit(sql), sql)
	}
}

func TestAnImpossibleLengthIsAnError(t *testing.T) {
	t.Parallel()
	for _, stream := range [][]byte{{'Q', 0, 0, 0, 3}, {'Q', 0xff, 0xff, 0xff, 0xff}} {
		var splitter pgwire.Splitter
		splitter.Feed(stream)
		_, err := splitter.Next()
		require.ErrorContains(t, err, "claims a length")
	}
	_, err := pgwire.ReadStartup(bytes.NewReader([]byte{0, 0, 0, 7, 0, 0, 0}))
	require.ErrorContains(t, err, "claims a length of 7 bytes")
}

// FuzzRequests looks for input with which a client could make the proxy panic or hang.
func FuzzRequests(f *testing.F) {
	seed, err := (&pgproto3.Query{String: "commit"}).Encode(nil)
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte{'B', 0, 0, 0, 5, 'x'})
	f.Add([]byte{'C', 0, 0, 0, 4})
	f.Fuzz(func(t *testing.T, stream []byte) {
		var splitter pgwire.Splitter
		var tracker pgwire.Requests
		splitter.Feed(stream)
		for range len(stream) + 1 {
			message, err := splitter.Next()
			if err != nil || message == nil {
				return
			}
			if _, err := tracker.Add(message); err != nil {
				return
			}
		}
		t.Fatal("more messages than bytes")
	})
}
