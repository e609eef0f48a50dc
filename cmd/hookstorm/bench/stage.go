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
	conns  int        // of a contender to its database; 0: as many as it has by itself
	// second names another source, route and destination besides the one of load.
	// Empty: there is none.
	second  string
	orderBy string // of the second route
	list    string // URL of the list of its source; empty: there is none
	// previous: it is another commit's program.
	previous bool
}

// The subjects.
var (
	limit           = subject{name: report.Limit, roles: []string{roleServer}}
	naive           = subject{name: report.Naive, schema: schemaNaive, roles: []string{roleServer}}
	naiveWithoutGIN = subject{name: report.NaiveWithoutGIN, schema: schemaNaiveWithoutGIN, roles: []string{roleServer}}
	accepting       = subject{name: report.Hooklatch, schema: schemaHooklatch, roles: []string{roleGateway}}
	living          = subject{name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}}
	// Its second source has one order, of all events.
	ordering = subject{
		name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}, second: "ordered", orderBy: "body.type",
	}
	// Its second destination is paused.
	pausing = subject{name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}, second: "paused"}
)

// stage is a subject at work, for one turn: processes on a new database.
type stage struct {
	bench     *bench
	who       subject
	server    *postgres // nil without a database
	database  string
	keep      bool      // the database outlives the turn
	watch     *pgx.Conn // to the database; its own costs are left out
	processes []*process
	// left tells whether something is left to do.
	left string
}

// pollPause is between looks at what is left to do.
const pollPause = 50 * time.Millisecond

// enter starts the processes of a subject on a database as it was prepared, on the
// subject's own server.
func (b *bench) enter(ctx context.Context, who subject) (*stage, error) {
	if who.schema == "" {
		return b.enterOn(ctx, who, nil, "")
	}
	server, err := b.server(ctx, who.schema)
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
	s := &stage{bench: b, who: who, server: server, database: database, left: unfinishedSQL}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leave(context.WithoutCancel(ctx)))
		}
	}()
	url := ""
	if server != nil {
		url = server.cluster.Primary(database)
		if s.watch, err = watch(ctx, url); err != nil {
			return nil, err
		}
	}
	for _, role := range who.roles {
		var p *process
		if role == roleServer {
			p, err = b.launchContender(ctx, who, url)
		} else {
			p, err = b.launchHooklatch(ctx, who, role, url)
		}
		if err != nil {
			return nil, err
		}
		s.processes = append(s.processes, p)
	}
	b.receiver.forget()
	return s, nil
}

// watch connects to a database to look on, in one process: what others of its own
// would use could not be left out.
func watch(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL of the database cannot be read") // the error would quote it
	}
	config.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	config.RuntimeParams["enable_seqscan"] = "off" // it looks often, and the tables may be large
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// command runs a command of the program beside its processes, and returns the CPU time
// it used.
func (s *stage) command(ctx context.Context, args ...string) (time.Duration, error) {
	return s.bench.command(ctx, s.who, s.server.cluster.Primary(s.database), args...)
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

// one has one event of a source accepted.
func (s *stage) one(ctx context.Context, source string) (id string, err error) {
	client, err := s.dial(ctx, load.Options{Connections: 1, Source: source})
	if err != nil {
		return "", err
	}
	defer client.Close()
	id, _, err = client.One(ctx)
	return id, err
}

//go:embed query/unfinished.sql
var unfinishedSQL string

//go:embed query/undispatched.sql
var undispatchedSQL string

// awaitQuiet waits until nothing is left to do: no event, no effect, no job, as far
// as the stage looks.
func (s *stage) awaitQuiet(ctx context.Context) error {
	return s.awaitFalse(ctx, s.left, "wait until nothing is left to do")
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

// done is how many of the effects that were made since then are done, and when the
// last one was.
func (s *stage) done(ctx context.Context, since time.Time) (n int, last time.Time, err error) {
	if err := s.watch.QueryRow(ctx, doneSQL, since).Scan(&n, &last); err != nil {
		return 0, last, fmt.Errorf("count the effects that were done: %w", err)
	}
	return n, last, nil
}
