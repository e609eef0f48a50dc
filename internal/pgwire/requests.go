package pgwire

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Request is a unit that a client sends: a simple query, or the extended protocol's messages
// up to the next Sync or Flush, which may be a pipeline.
type Request struct {
	// Bytes holds the messages as they arrived.
	Bytes []byte
	// SQL lists the executed statements, in order. One simple query may contain several, which
	// are one text here.
	SQL []string
	// Answered means that the server ends its response with ReadyForQuery.
	Answered bool
	// GoodBye means that the client closes the connection.
	GoodBye bool
}

// Requests assembles a client's messages into requests, and remembers the SQL of the client's
// prepared statements and portals. The zero value is ready for a new connection.
type Requests struct {
	statements map[string]string
	portals    map[string]string
	open       Request
}

// Add processes the client's next message and returns the request that it completes, or nil.
func (r *Requests) Add(m Message) (*Request, error) {
	r.open.Bytes = append(r.open.Bytes, m...)
	complete := true
	var err error
	switch m.Type() {
	case 'Q':
		var query pgproto3.Query
		err = query.Decode(m.Body())
		r.open.SQL = append(r.open.SQL, query.String)
		r.open.Answered = true
	case 'P':
		var parse pgproto3.Parse
		err = parse.Decode(m.Body())
		set(&r.statements, parse.Name, parse.Query)
		complete = false
	case 'B':
		err = r.bind(m.Body())
		complete = false
	case 'E':
		var execute pgproto3.Execute
		err = execute.Decode(m.Body())
		r.open.SQL = append(r.open.SQL, r.portals[execute.Portal])
		complete = false
	case 'C':
		var closing pgproto3.Close
		err = closing.Decode(m.Body())
		if closing.ObjectType == 'S' {
			delete(r.statements, closing.Name)
		} else {
			delete(r.portals, closing.Name)
		}
		complete = false
	case 'D':
		complete = false
	case 'S', 'F': // Sync, and the older function call
		r.open.Answered = true
	case 'X':
		r.open.GoodBye = true
	}
	if err != nil {
		return nil, fmt.Errorf("message of type %q: %w", m.Type(), err)
	}
	if !complete {
		return nil, nil
	}
	done := r.open
	r.open = Request{}
	return &done, nil
}

// bind remembers the SQL of the portal that a Bind creates. The parameters of the Bind do not
// matter here.
func (r *Requests) bind(body []byte) error {
	portal, rest, found := bytes.Cut(body, []byte{0})
	statement, _, also := bytes.Cut(rest, []byte{0})
	if !found || !also {
		return errors.New("a name has no end")
	}
	set(&r.portals, string(portal), r.statements[string(statement)])
	return nil
}

func set(in *map[string]string, name, sql string) {
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[name] = sql
}

var commits = regexp.MustCompile(`(?i)^\s*(commit|end)(\s+(work|transaction))?(\s+and\s+no\s+chain)?[\s;]*$`)

// IsCommit reports whether a statement is a COMMIT and nothing else.
func IsCommit(sql string) bool { return commits.MatchString(sql) }

// EndsAnswer reports whether a server message is ReadyForQuery.
func EndsAnswer(m Message) bool { return m.Type() == 'Z' }
