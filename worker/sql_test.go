package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/lane"
	"github.com/hooklatch/hooklatch/worker/route"
)

// books adds an sql destination, and a route that inserts a credit for every event.
func (b *bundle) books(t *testing.T, role string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `CREATE TABLE public.credits (invoice text NOT NULL, cents bigint NOT NULL CHECK (cents > 0), tags jsonb, by_role text NOT NULL DEFAULT current_user)`)
	require.NoError(t, err)
	sender, err := destination.NewSQL(destination.SQLOptions{
		Name:       "books",
		Statements: map[string]string{"credit": `INSERT INTO public.credits (invoice, cents, tags) VALUES ($1, $2, $3)`},
		Role:       role, TracerProvider: b.opts.TracerProvider,
	})
	require.NoError(t, err)
	b.opts.Destinations = append(b.opts.Destinations, DestinationOptions{
		Name: "books", Sender: sender, Retry: destination.Schedule{Initial: time.Millisecond, Jitter: -1, MaxAttempts: 1000},
	})
	b.opts.Routes = append(b.opts.Routes, route.Route{
		Name: "credit", From: []string{"*"}, To: "books",
		SQL: &route.SQLStatement{Params: []string{"event.id", "body.cents", "body.tags"}},
	})
}

func TestSQLEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	// A role belongs to the cluster, which other tests share.
	role := fmt.Sprintf("books_%d", time.Now().UnixNano())
	_, err := b.pool.Exec(t.Context(), `CREATE ROLE `+role)
	require.NoError(t, err)
	b.books(t, role)
	_, err = b.pool.Exec(t.Context(), `GRANT INSERT ON public.credits TO `+role)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = b.pool.Exec(t.Context(), `DROP OWNED BY `+role+`; DROP ROLE `+role) // an error is harmless: tests delete the cluster
	})
	events := b.start(t, b.worker(t))

	b.take(t, incoming{id: "evt_1", body: `{"cents":500,"tags":["a",1]}`})
	job := next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)
	require.Equal(t, "done", outputOf(t, job).Outcome)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM public.credits WHERE invoice = 'evt_1' AND cents = 500 AND tags = '["a", 1]' AND by_role = $1`, role))

	// An effect whose statement fails because of its data fails for good. The error states the
	// reason without the values.
	b.take(t, incoming{id: "evt_2", body: `{"cents":-1,"tags":null}`})
	job = next(t, events, riverjob.KindEffect, river.EventKindJobCancelled)
	require.Equal(t, "failed", outputOf(t, job).Outcome)
	require.Contains(t, job.Errors[0].Error, `books: failed: statement "credit": new row for relation "credits" violates check constraint "credits_cents_check" (SQLSTATE 23514)`)

	// A statement is tried again if it fails for a reason that an operator can repair.
	_, err = b.pool.Exec(t.Context(), `REVOKE INSERT ON public.credits FROM `+role)
	require.NoError(t, err)
	b.take(t, incoming{id: "evt_3", body: `{"cents":7,"tags":null}`})
	job = next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	require.Equal(t, "pending", outputOf(t, job).Outcome)
	require.Contains(t, job.Errors[0].Error, "permission denied")
	_, err = b.pool.Exec(t.Context(), `GRANT INSERT ON public.credits TO `+role)
	require.NoError(t, err)
	waitFor(t, b, `SELECT count(*) FROM public.credits WHERE invoice = 'evt_3' AND tags IS NULL`)
}

// Claim, statement and settlement are one transaction, so an effect is applied exactly once even if
// the response to its COMMIT is lost.
func TestSQLEffectSurvivesALostCommit(t *testing.T) {
	t.Parallel()
	for _, mode := range []fault.Mode{fault.LoseAnswer, fault.LoseRequest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			const effects, faults = 12, 20
			b := setup(t)
			b.books(t, "")
			pool, f, err := fault.NewPool(t.Context(), pgtest.URL(t, b.pool))
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			faulty, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
			require.NoError(t, err)
			sound := b.outbox
			b.opts.Outbox = faulty
			w := b.worker(t)
			b.start(t, w)
			f.Arm(mode, faults)
			for i := range effects {
				require.NoError(t, pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
					id, cents := fmt.Sprint("in_", i), "5"
					body, err := destination.Statement{Name: "credit", Params: []*string{&id, &cents, nil}}.Encode()
					if err != nil {
						return err
					}
					_, err = sound.EnqueueTx(t.Context(), tx, outbox.Enqueue{
						Key: identity.Key(id), Destination: "books",
						Request: ledger.Request{ContentType: destination.SQLContentType, Body: body},
					})
					return err
				}))
			}
			waitFor(t, b, `SELECT count(*) / 12 FROM hooklatch.effects WHERE state = 'done'`)
			require.Equal(t, faults, f.Count(), "every fault happened")
			require.Equal(t, effects, b.count(t, `SELECT count(*) FROM public.credits`))
			require.Equal(t, effects, b.count(t, `SELECT count(DISTINCT invoice) FROM public.credits`))
			require.Equal(t, effects, b.count(t, `SELECT count(*) FROM hooklatch.all_attempts WHERE applied = 'yes' AND attempt = 1`))
		})
	}
}

// A schema in the connection's search_path has no influence: other roles may be able to create
// objects in it.
func TestStatementsFindNamesInTheirOwnSearchPathOnly(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		path []string
		want string
	}{"by default": {nil, "public"}, "as configured": {[]string{"App Schema", "public"}, "App Schema"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for _, statement := range []string{
				`CREATE SCHEMA evil`, `CREATE SCHEMA "App Schema"`,
				`CREATE TABLE public.marks (place text)`, `CREATE TABLE evil.marks (other text)`, `CREATE TABLE "App Schema".marks (place text)`,
				`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = evil, public', current_database()); END $$`,
			} {
				_, err := b.pool.Exec(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			b.pool.Reset() // new connections have the setting
			sender, err := destination.NewSQL(destination.SQLOptions{
				Name: "marks", Statements: map[string]string{"mark": `INSERT INTO marks (place) VALUES (current_setting('search_path'))`}, SearchPath: one.path,
			})
			require.NoError(t, err)
			conn, err := b.pool.Acquire(t.Context())
			require.NoError(t, err)
			rejected, err := sender.Prepare(t.Context(), conn.Conn())
			conn.Release()
			require.NoError(t, err)
			require.Empty(t, rejected, "hooklatch check finds the same table")
			b.opts.Destinations = []DestinationOptions{{Name: "marks", Sender: sender}}
			b.opts.Routes = []route.Route{{Name: "mark", From: []string{"*"}, To: "marks", SQL: &route.SQLStatement{}}}
			events := b.start(t, b.worker(t))
			b.accept(t, "evt_1", false)
			require.Equal(t, "done", outputOf(t, next(t, events, riverjob.KindEffect, river.EventKindJobCompleted)).Outcome)
			require.Equal(t, 1, b.count(t, `SELECT count(*) FROM "`+one.want+`".marks`))
		})
	}
}

// Error messages of Postgres quote values that do not fit their type, and a database function can
// add values to a message. Values may appear in the excerpt, but never in an error.
func TestErrorsOfStatementsHaveNoValues(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE public.bills (number text PRIMARY KEY, cents integer NOT NULL CHECK (cents > 0), state text);
		INSERT INTO public.bills VALUES ('canary', 1);
		CREATE FUNCTION public.guard() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF NEW.state = 'canary' THEN
				RAISE EXCEPTION 'bill % is in state %', NEW.number, NEW.state USING ERRCODE = 'check_violation';
			END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER guard BEFORE INSERT ON public.bills FOR EACH ROW EXECUTE FUNCTION public.guard();
		CREATE FUNCTION public.fail(why text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'failed: %', why; END $$;
		CREATE FUNCTION public.run(text text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SELECT ' || text; END $$`)
	require.NoError(t, err)
	bill := `INSERT INTO public.bills (number, cents, state) VALUES ($1, $2::text::integer, $3)`
	for name, c := range map[string]struct {
		text   string
		params []string
		want   string
		quoted bool // true if the excerpt contains the value
	}{
		"type":     {bill, []string{"a", "canary", ""}, "the server refused it (SQLSTATE 22P02)", true},
		"range":    {bill, []string{"a", "731947731947", ""}, "the server refused it (SQLSTATE 22003)", true},
		"time":     {`SELECT $1::text::timestamptz`, []string{"canary"}, "the server refused it (SQLSTATE 22007)", true},
		"json":     {`SELECT $1::text::json`, []string{`{"canary`}, "the server refused it (SQLSTATE 22P02)", false},
		"pattern":  {`SELECT 'a' ~ $1::text`, []string{"(canary"}, "the server refused it (SQLSTATE 2201B)", false},
		"unique":   {bill, []string{"canary", "1", ""}, `duplicate key value violates unique constraint "bills_pkey" (SQLSTATE 23505)`, false},
		"check":    {bill, []string{"canary2", "-731947", ""}, `new row for relation "bills" violates check constraint "bills_cents_check" (SQLSTATE 23514)`, false},
		"raised":   {`SELECT public.fail($1)`, []string{"canary"}, "the server refused it (SQLSTATE P0001)", true},
		"trigger":  {bill, []string{"a", "1", "canary"}, "the server refused it (SQLSTATE 23514)", true},
		"dynamic":  {`SELECT public.run($1)`, []string{"canary"}, "the server refused it (SQLSTATE 42703)", true},
		"tsquery":  {`SELECT to_tsquery('simple', $1)`, []string{"canary :"}, "the server refused it (SQLSTATE 42601)", true},
		"tsvector": {`SELECT $1::text::tsvector`, []string{"'canary"}, "the server refused it (SQLSTATE 42601)", true},
		"regtype":  {`SELECT $1::text::regtype`, []string{"canary canary("}, "the server refused it (SQLSTATE 42601)", true},
		"name":     {`SELECT $1::text::regclass`, []string{"canary"}, "the server refused it (SQLSTATE 42P01)", true},
		"no table": {`INSERT INTO public.nowhere VALUES ($1)`, []string{"canary"}, `relation "public.nowhere" does not exist (SQLSTATE 42P01)`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender, err := destination.NewSQL(destination.SQLOptions{Name: "books", Statements: map[string]string{"one": c.text}})
			require.NoError(t, err)
			call := destination.Statement{Name: "one"}
			for _, param := range c.params {
				call.Params = append(call.Params, new(param))
			}
			body, err := call.Encode()
			require.NoError(t, err)
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			out, err := sender.Run(t.Context(), tx, &ledger.Effect{Request: ledger.Request{Body: body}})
			require.NoError(t, err)
			require.EqualError(t, out.Err, `statement "one": `+c.want)
			require.Equal(t, c.quoted, strings.Contains(out.Excerpt, "canary") || strings.Contains(out.Excerpt, "731947"), out.Excerpt)
		})
	}
}

// A deferred constraint is checked with its statement, not by the COMMIT. An effect that violates
// the constraint is refused, even if a breaker's probe attempts it. The trigger runs as the
// destination's role.
func TestADeferredConstraintRefusesItsEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	role := fmt.Sprintf("books_%d", time.Now().UnixNano())
	_, err := b.pool.Exec(t.Context(), `CREATE ROLE `+role)
	require.NoError(t, err)
	b.books(t, role)
	b.opts.Destinations[len(b.opts.Destinations)-1].Breaker = lane.Breaker{Probe: time.Millisecond, MaxProbe: 10 * time.Millisecond}
	_, err = b.pool.Exec(t.Context(), `GRANT INSERT ON public.credits TO `+role+`;
		CREATE TABLE public.seen (by_role text);
		GRANT INSERT ON public.seen TO `+role+`;
		CREATE TABLE public.invoices (id text PRIMARY KEY);
		INSERT INTO public.invoices VALUES ('evt_good');
		ALTER TABLE public.credits ADD FOREIGN KEY (invoice) REFERENCES public.invoices DEFERRABLE INITIALLY DEFERRED;
		CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen VALUES (current_user); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER look AFTER INSERT ON public.credits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.look()`)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = b.pool.Exec(t.Context(), `DROP OWNED BY `+role+`; DROP ROLE `+role) // an error is harmless: tests delete the cluster
	})
	w := b.worker(t)
	require.NoError(t, w.registerDestinations(t.Context()))
	require.NoError(t, failure(b.outbox.Fleet().Trip(t.Context(), "books", "it was down", time.Millisecond)))
	b.start(t, w)
	b.take(t, incoming{id: "evt_bad", body: `{"cents":500,"tags":null}`})
	b.take(t, incoming{id: "evt_good", body: `{"cents":500,"tags":null}`})
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE event_id = 'evt_bad' AND state = 'failed' AND attempt = 1 AND error LIKE '%"credits_invoice_fkey" (SQLSTATE 23503)'`)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE event_id = 'evt_good' AND state = 'done'`)
	waitFor(t, b, `SELECT count(*) FROM hooklatch.destinations WHERE name = 'books' AND breaker_state = 'closed'`)
	require.Equal(t, 1, b.count(t, `SELECT count(*) FROM public.seen WHERE by_role = $1`, role))
}

// hidesFailure is a Transactional sender that reports success although its statement failed.
type hidesFailure struct{ fakeSender }

func (hidesFailure) Run(ctx context.Context, tx pgx.Tx, _ *ledger.Effect) (destination.Outcome, error) {
	_, _ = tx.Exec(ctx, `UPDATE nothing SET x = 1`)
	return destination.Outcome{Verdict: ledger.VerdictDone}, nil
}

// An attempt whose transaction cannot be committed counts as an attempt.
func TestATransactionThatCannotBeCommittedIsAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Destinations = []DestinationOptions{{
		Name: "app", Sender: hidesFailure{fakeSender(destination.KindHTTP)}, Timeout: time.Minute,
		Retry: destination.Schedule{Initial: time.Millisecond, Jitter: -1, MaxAttempts: 2},
	}}
	b.opts.Routes = []route.Route{{Name: "everything", From: []string{"*"}, To: "app"}}
	events := b.start(t, b.worker(t))
	b.accept(t, "evt_1", false)
	job := next(t, events, riverjob.KindEffect, river.EventKindJobFailed)
	require.Equal(t, "pending", outputOf(t, job).Outcome)
	require.Contains(t, job.Errors[0].Error, errNotCommitted.Error())
	waitFor(t, b, `SELECT count(*) FROM hooklatch.effects WHERE state = 'parked' AND attempt = 2 AND error LIKE '%SQLSTATE 25P02%'`)
}
