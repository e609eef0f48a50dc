package bench

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/internal/redisserver"
	"github.com/hooklatch/hooklatch/internal/retry"
)

// subject is a measured system: server processes with or without a Postgres.
type subject struct {
	name   string
	schema schemaKind // empty if the subject has no database
	roles  []string   // roles of the processes
	// second is the name of an additional source, route and destination. If empty, only load.Source
	// exists, with one route and destination.
	second  string
	orderBy string // order_by of the second route
	when    string // condition of the first route; empty if it has none
	list    string // URL of the source's list; empty if the source has no list
	left    string // query for unfinished work; empty: unfinishedSQL
	done    string // query for finished work; empty: doneSQL
	// sharing is true if the gateways share a duplicate cache in Redis.
	sharing bool
	redis   string // URL of the shared Redis; set by enter
	// acceptOnly is true if the River program delivers nothing.
	acceptOnly bool
	// previous is true if the program is from the previous commit.
	previous bool
}

var (
	limit           = subject{name: report.Limit, roles: []string{roleServer}}
	naive           = subject{name: report.Naive, schema: schemaNaive, roles: []string{roleServer}}
	naiveWithoutGIN = subject{name: report.NaiveWithoutGIN, schema: schemaNaiveWithoutGIN, roles: []string{roleServer}}
	accepting       = subject{name: report.Hooklatch, schema: schemaHooklatch, roles: []string{roleGateway}}
	living          = subject{name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}}
	// The second route of ordering puts all effects into one order.
	ordering = subject{
		name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}, second: "ordered", orderBy: "body.type",
	}
	// The second destination of pausing is paused. awaitQuiet does not wait for that
	// destination's effects.
	pausing = subject{
		name: report.WholeLife, schema: schemaHooklatch, roles: []string{roleGateway, roleWorker}, second: "paused", left: unfinishedOfAppSQL,
	}
)

// as returns the subject under another name. If the name is report.PreviousCommit, the subject's
// program is from the previous commit.
func (who subject) as(name string) subject {
	who.name, who.previous = name, name == report.PreviousCommit
	return who
}

// scene is a running subject for one turn: processes on a database.
type scene struct {
	bench     *bench
	who       subject
	database  database
	watch     *pgx.Conn // connection to the database; the costs of this connection are not counted
	processes []*process
	redis     *redisserver.Server // nil unless who.sharing is true
	clients   []*load.Client
}

// database selects the database on which a scene runs.
type database struct {
	server *postgres // if nil, the server of the subject's schema
	name   string    // if empty, a copy of the prepared database
	keep   bool      // the database outlives the scene
}

// play starts the processes of a subject on a database, calls the function do, and stops the
// processes.
func (b *bench) play(ctx context.Context, who subject, on database, do func(s *scene) error) (err error) {
	s, err := b.enter(ctx, who, on)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	return do(s)
}

// playLife is like play, but first sends some events to warm everything up. The function do
// receives the client that sent them.
func (b *bench) playLife(ctx context.Context, who subject, on database, do func(s *scene, client *load.Client) error) error {
	return b.play(ctx, who, on, func(s *scene) error {
		client, err := s.warmUp(ctx)
		if err != nil {
			return err
		}
		return do(s, client)
	})
}

// enter starts the processes of a subject. The method leave stops them.
func (b *bench) enter(ctx context.Context, who subject, on database) (_ *scene, err error) {
	if who.schema != "" && on.server == nil {
		if on.server, err = b.server(ctx, who.schema); err != nil {
			return nil, err
		}
	}
	url := ""
	if on.server != nil {
		if on.name == "" {
			if on.name, err = on.server.copy(ctx, original); err != nil {
				return nil, err
			}
		}
		url = on.server.cluster.Primary(on.name)
	}
	s := &scene{bench: b, who: who, database: on}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.leave(context.WithoutCancel(ctx)))
		}
	}()
	if url != "" {
		if s.watch, err = watch(ctx, url); err != nil {
			return nil, err
		}
	}
	if who.sharing {
		if s.redis, err = redisserver.Start(ctx); err != nil {
			return nil, err
		}
		s.who.redis = s.redis.URL()
	}
	for _, role := range who.roles {
		p, err := b.launch(ctx, s.who, role, url)
		if err != nil {
			return nil, err
		}
		s.processes = append(s.processes, p)
	}
	b.receiver.forget()
	return s, nil
}

// watch connects to a database for observation. Queries on this connection use no parallel
// workers, because their costs could not be excluded.
func watch(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL of the database cannot be read") // the error would quote the URL
	}
	config.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	config.RuntimeParams["enable_seqscan"] = "off" // the connection queries often, and the tables may be large
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// command runs a command of the subject's program while the processes are running. It returns the
// CPU time that the command used.
func (s *scene) command(ctx context.Context, args ...string) (time.Duration, error) {
	return s.bench.command(ctx, s.who, s.database.server.cluster.Primary(s.database.name), args...)
}

// leave closes the connections, stops the processes and drops the database, unless it must be kept.
func (s *scene) leave(ctx context.Context) error {
	var failed []error
	for _, c := range s.clients {
		c.Close()
	}
	for _, p := range s.processes {
		failed = append(failed, p.Stop(ctx))
	}
	if s.redis != nil {
		failed = append(failed, s.redis.Stop())
	}
	if s.watch != nil {
		failed = append(failed, s.watch.Close(ctx))
	}
	if s.database.server != nil && !s.database.keep {
		failed = append(failed, s.database.server.drop(ctx, s.database.name))
	}
	return errors.Join(failed...)
}

// dial opens connections to the processes that accept events. The method leave closes them.
func (s *scene) dial(ctx context.Context, o load.Options) (*load.Client, error) {
	for _, p := range s.processes {
		if p.role != roleWorker {
			o.Addresses = append(o.Addresses, p.events)
		}
	}
	client, err := load.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	s.clients = append(s.clients, client)
	return client, nil
}

// one sends a single event to a source and returns the event's id.
func (s *scene) one(ctx context.Context, source string) (id string, err error) {
	client, err := s.dial(ctx, load.Options{Connections: 1, Source: source})
	if err != nil {
		return "", err
	}
	id, _, err = client.One(ctx)
	return id, err
}

//go:embed query/unfinished.sql
var unfinishedSQL string

//go:embed query/undispatched.sql
var undispatchedSQL string

// pollPause is the pause between two checks for unfinished work.
const pollPause = 50 * time.Millisecond

// awaitQuiet waits until no event, effect or job is unfinished, according to the subject's query.
func (s *scene) awaitQuiet(ctx context.Context) error {
	return s.awaitFalse(ctx, cmp.Or(s.who.left, unfinishedSQL), "wait until nothing is left to do")
}

// awaitDispatched waits until no event still has to be dispatched.
func (s *scene) awaitDispatched(ctx context.Context) error {
	return s.awaitFalse(ctx, undispatchedSQL, "wait until all events are dispatched")
}

// awaitFalse repeats a query until it returns false.
func (s *scene) awaitFalse(ctx context.Context, sql, what string) error {
	for {
		var still bool
		if err := s.watch.QueryRow(ctx, sql).Scan(&still); err != nil {
			return fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(ctx)))
		}
		if !still {
			return nil
		}
		if retry.Wait(ctx, pollPause) != nil {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
}

//go:embed query/done.sql
var doneSQL string

// done counts the effects that were created since the given time and are done. It also returns the
// time at which the last one was done.
func (s *scene) done(ctx context.Context, since time.Time) (n int, last time.Time, err error) {
	if err := s.watch.QueryRow(ctx, cmp.Or(s.who.done, doneSQL), since).Scan(&n, &last); err != nil {
		return 0, last, fmt.Errorf("count the done effects: %w", err)
	}
	return n, last, nil
}
