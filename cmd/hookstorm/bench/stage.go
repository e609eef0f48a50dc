package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// subject is who is measured: a server with its own Postgres, or without.
type subject struct {
	name   string
	schema schemaKind // empty: without a database
	roles  []string   // of its processes
}

// The subjects.
var (
	limit           = subject{name: report.Limit, roles: []string{roleServer}}
	naive           = subject{name: report.Naive, schema: schemaNaive, roles: []string{roleServer}}
	naiveWithoutGIN = subject{name: report.NaiveWithoutGIN, schema: schemaNaiveWithoutGIN, roles: []string{roleServer}}
	accepting       = subject{name: report.Hooklatch, schema: schemaHooklatch, roles: []string{roleGateway}}
	living          = subject{name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}}
)

// stage is a subject at work, for one turn: processes on a new database.
type stage struct {
	bench     *bench
	server    *postgres // nil without a database
	database  string
	keep      bool      // the database outlives the turn
	watch     *pgx.Conn // to the database; its own costs are left out
	processes []*process
}

// pollPause is between looks at what is left to do.
const pollPause = 50 * time.Millisecond

// enter starts the processes of a subject on a database as it was prepared, on the
// subject's own server.
func (b *bench) enter(ctx context.Context, who subject) (*stage, error) {
	if who.schema == "" {
		return b.enterOn(ctx, who, nil, "")
	}
	server, err := b.server(ctx, who.name, who.schema)
	if err != nil {
		return nil, err
	}
	database, err := server.copy(ctx, original)
	if err != nil {
		return nil, err
	}
	return b.enterOn(ctx, who, server, database)
}

// enterOn starts the processes of a subject on a database, which leave drops.
func (b *bench) enterOn(ctx context.Context, who subject, server *postgres, database string) (_ *stage, err error) {
	s := &stage{bench: b, server: server, database: database}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leave(context.WithoutCancel(ctx)))
		}
	}()
	url := ""
	if server != nil {
		url = server.cluster.Primary(database)
		if s.watch, err = pgx.Connect(ctx, url); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	for _, role := range who.roles {
		var p *process
		if role == roleServer {
			p, err = b.launchContender(ctx, url)
		} else {
			p, err = b.launchHooklatch(ctx, role, url)
		}
		if err != nil {
			return nil, err
		}
		s.processes = append(s.processes, p)
	}
	b.receiver.forget()
	return s, nil
}

// leave ends the processes and drops the database, unless it is to be kept.
func (s *stage) leave(ctx context.Context) error {
	var failed []error
	for _, p := range s.processes {
		failed = append(failed, p.Stop(ctx))
	}
	if s.watch != nil {
		failed = append(failed, s.watch.Close(ctx))
	}
	if s.server != nil && !s.keep {
		failed = append(failed, s.server.drop(ctx, s.database))
	}
	return errors.Join(failed...)
}

// dial opens connections to whichever process takes events.
func (s *stage) dial(ctx context.Context, o load.Options) (*load.Client, error) {
	for _, p := range s.processes {
		if p.role != roleWorker {
			o.Addresses = append(o.Addresses, p.events)
		}
	}
	return load.Dial(ctx, o)
}

//go:embed query/unfinished.sql
var unfinishedSQL string

//go:embed query/undispatched.sql
var undispatchedSQL string

// awaitQuiet waits until nothing is left to do: no event, no effect, no job.
func (s *stage) awaitQuiet(ctx context.Context) error {
	return s.awaitFalse(ctx, unfinishedSQL, "wait until nothing is left to do")
}

// awaitDispatched waits until every event has its effect.
func (s *stage) awaitDispatched(ctx context.Context) error {
	return s.awaitFalse(ctx, undispatchedSQL, "wait until all events are dispatched")
}

// awaitFalse asks until the answer is no.
func (s *stage) awaitFalse(ctx context.Context, sql, what string) error {
	for {
		var still bool
		if err := s.watch.QueryRow(ctx, sql).Scan(&still); err != nil {
			return fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(ctx)))
		}
		if !still {
			return nil
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

//go:embed query/done.sql
var doneSQL string

// done is how many effects were done, and when the last one was.
func (s *stage) done(ctx context.Context) (n int, last time.Time, err error) {
	if err := s.watch.QueryRow(ctx, doneSQL).Scan(&n, &last); err != nil {
		return 0, last, fmt.Errorf("count the effects that were done: %w", err)
	}
	return n, last, nil
}
