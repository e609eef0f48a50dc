package engine

import (
	"context"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/pgwire"
)

// lie makes a real server break one promise: it changes the statements that reach the server, or
// the messages that the server sends. Either function may be nil.
type lie struct {
	// statement returns the text to send instead. extended is true if the client sent the text with
	// the extended protocol, for example in a pipeline.
	statement func(sql string, extended bool) string
	answer    func(pgwire.Message) pgwire.Message
}

// pool returns a pool whose connections lie.
func (l lie) pool(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	config = config.Copy()
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		inner, err := new(net.Dialer).DialContext(ctx, network, address)
		return &liar{Conn: inner, lie: l}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// liar is a connection to a server that lies.
type liar struct {
	net.Conn

	lie       lie
	begun     bool // true after the startup packet, which has no type
	asked     pgwire.Splitter
	answering pgwire.Splitter
	unread    []byte
}

func (c *liar) Write(b []byte) (int, error) {
	if !c.begun || c.lie.statement == nil {
		c.begun = true
		return c.Conn.Write(b)
	}
	c.asked.Feed(b)
	var out []byte
	for {
		message, err := c.asked.Next()
		if err != nil {
			return 0, err
		}
		if message == nil {
			break
		}
		if out, err = c.changed(out, message); err != nil {
			return 0, err
		}
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// changed appends a client's message with its statement changed.
func (c *liar) changed(out []byte, message pgwire.Message) ([]byte, error) {
	switch message.Type() {
	case 'Q':
		var query pgproto3.Query
		if err := query.Decode(message.Body()); err != nil {
			return nil, err
		}
		query.String = c.lie.statement(query.String, false)
		return query.Encode(out)
	case 'P':
		var parse pgproto3.Parse
		if err := parse.Decode(message.Body()); err != nil {
			return nil, err
		}
		parse.Query = c.lie.statement(parse.Query, true)
		return parse.Encode(out)
	default:
		return append(out, message...), nil
	}
}

func (c *liar) Read(b []byte) (int, error) {
	for len(c.unread) == 0 {
		n, err := c.Conn.Read(b)
		if c.lie.answer == nil || err != nil {
			return n, err
		}
		c.answering.Feed(b[:n])
		for {
			message, err := c.answering.Next()
			if err != nil {
				return 0, err
			}
			if message == nil {
				break
			}
			c.unread = append(c.unread, c.lie.answer(message)...)
		}
	}
	n := copy(b, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}
