package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// bundle is a console on a separate database.
type bundle struct {
	http.Handler

	console *console.Console
	box     *outbox.Outbox
	pool    *pgxpool.Pool
	refused *verified
}

func setup(t testing.TB, change ...func(*console.Options)) *bundle {
	t.Helper()
	return setupOn(t, pgtest.New(t), change...)
}

// setupOn creates a console on a database, with the sources github and stripe, the route paid and
// the destination app. Each change modifies the console's options.
func setupOn(t testing.TB, pool *pgxpool.Pool, change ...func(*console.Options)) *bundle {
	t.Helper()
	_, err := pool.Exec(t.Context(), `INSERT INTO hooklatch.destinations (name, kind, queue, policy, config_hash)
		VALUES ('app', 'http', 'dst_app', 'at_least_once', '')`)
	require.NoError(t, err)
	box, err := outbox.New(outbox.Options{Pool: pool, ConsoleURL: "https://ops.example.com/hooklatch/", AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		require.NoError(t, box.Stop(ctx))
	})
	sender, err := destination.NewHTTP(destination.HTTPOptions{Name: "app", URL: "https://app.example/hook"})
	require.NoError(t, err)
	kept, err := quarantine.New(quarantine.Options{Pool: pool, Ledger: box.Ledger()})
	require.NoError(t, err)
	refused := &verified{Quarantine: kept}
	measured, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	routed := func(when string) (*route.Table, error) {
		return route.Compile(route.Options{
			Routes:  []route.Route{{Name: "paid", From: []string{"stripe"}, Types: []string{"invoice.paid"}, To: "app", When: when}},
			Targets: []route.Target{{Name: "app", Queue: "dst_app", Policy: ledger.AtLeastOnce, Sender: sender}},
		})
	}
	opts := console.Options{
		Outbox: box, Status: console.NewStatus(pool, doctor.StatusOptions{AllowFsyncOff: true}), Version: "v1.2.3",
		Quarantine: refused,
		Measure:    measured,
		Sources: func() []console.Source {
			return []console.Source{
				{Name: "github", Provider: "github", URL: "/webhooks/github"},
				{Name: "stripe", Provider: "stripe", URL: "https://hooks.example.com/webhooks/stripe", Setup: []string{"Give `{url}` to Stripe & co."}, Secrets: []string{"aaaa", "bbbb"}},
			}
		},
		Destinations: func() []console.Destination {
			return []console.Destination{{Name: "app", Kind: "http", Target: "https://app.example/hook"}}
		},
		Routes: func() (current console.Routes) {
			current.Table, current.Err = routed("")
			current.List = []routes.Route{{
				Name: "paid", From: []string{"stripe"}, Types: []string{"invoice.paid"}, Destination: "app",
				Settings: []routes.Setting{{Field: "name", Value: "paid"}}, Target: []routes.Setting{{Field: "timeout", Value: "15s"}},
			}}
			return current
		},
		// In tests, the text is only the condition (when) of the typed route. The program parses
		// YAML.
		Try: func(text string) (trial console.Trial, err error) {
			trial.Name, trial.Replaces = "paid", true
			if trial.Old, err = routed(""); err == nil {
				trial.New, err = routed(text)
			}
			if err != nil {
				err = &console.RouteError{Lines: strings.Split(err.Error(), "\n")}
			}
			return trial, err
		},
	}
	opts.TestEvents = testEvents{}
	for _, f := range change {
		f(&opts)
	}
	c, err := console.New(opts)
	require.NoError(t, err)
	return &bundle{console: c, Handler: asked(c.Handler(), signin.Person{Name: signin.Nameless, Role: signin.Admin, Way: "loopback"}), box: box, pool: pool, refused: refused}
}

// asked sets the caller of each request: the Person in the request's context, or else nameless.
// Basic authentication changes the caller's name.
func asked(h http.Handler, nameless signin.Person) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person := nameless
		if known := signin.PersonOf(r.Context()); known != (signin.Person{}) {
			person = known
		}
		if user, _, given := r.BasicAuth(); given {
			person.Name = user
		}
		h.ServeHTTP(w, r.WithContext(signin.WithPerson(r.Context(), person)))
	})
}

// verified is a quarantine in which a delivery is genuine only if its body equals proven.
type verified struct {
	*quarantine.Quarantine

	proven string
}

// Retry implements console.Quarantine.
func (v *verified) Retry(ctx context.Context, id uuid.UUID, by ledger.Operator) (quarantine.Retried, error) {
	return v.Quarantine.Retry(ctx, id, by, v.verify)
}

func (v *verified) verify(_ context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
	if string(d.Body) == v.proven {
		return quarantine.Verdict{New: true}, nil
	}
	return quarantine.Verdict{Refused: d.Reason}, nil
}

// WouldVerify implements console.Quarantine.
func (v *verified) WouldVerify(_ context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
	if string(d.Body) == v.proven {
		return quarantine.Verdict{}, nil
	}
	return quarantine.Verdict{Refused: d.Reason}, nil
}

// accept stores one Stripe event with this body.
func (b *bundle) accept(t testing.TB, id, eventType, body string) *inbox.Event {
	t.Helper()
	_, err := b.box.Accept(t.Context(), outbox.Delivery{
		Source: "stripe", Provider: "stripe", ContentType: "application/json", Body: []byte(body),
		Headers: map[string][]string{"X-Sent-By": {"<i>somebody</i>"}},
		Events:  []outbox.Incoming{{ID: identity.EventID(id), Type: eventType}},
	})
	require.NoError(t, err)
	e, err := b.box.Inbox().Event(t.Context(), identity.EventRef{Source: "stripe", EventID: identity.EventID(id)})
	require.NoError(t, err)
	return e
}

// dispatch creates an event's effect, and returns the effect's key.
func (b *bundle) dispatch(t testing.TB, e *inbox.Event, policy ledger.Policy) string {
	t.Helper()
	id := identity.EffectID{Scope: identity.ScopeOfRoute(e.Source, "paid"), Key: identity.Key(e.EventID), Generation: 1}
	_, err := b.box.Dispatch(t.Context(), outbox.Dispatch{Event: e, Effects: []ledger.NewEffect{{
		EffectID: id, Route: "paid", Destination: "app", Queue: "dst_app", Policy: policy,
		Request: ledger.Request{Method: "POST", URL: "https://app.example/hook", ContentType: "application/json", FromDelivery: true},
	}}})
	require.NoError(t, err)
	return id.IdempotencyKey()
}

// attempt makes one attempt of an effect, with this outcome.
func (b *bundle) attempt(t testing.TB, key string, end ledger.Settlement) {
	t.Helper()
	e, err := b.box.Ledger().Effect(t.Context(), key)
	require.NoError(t, err)
	claimed, err := b.box.Ledger().Claim(t.Context(), ledger.Claim{ID: e.EffectID, ClaimID: uuid.New(), Lease: time.Minute, JobID: 1})
	require.NoError(t, err)
	require.Equal(t, ledger.ClaimGranted, claimed.Status)
	end.Effect = claimed.Effect
	_, err = b.box.Ledger().Settle(t.Context(), end)
	require.NoError(t, err)
}

// failed returns the key of a new effect that its receiver refused.
func (b *bundle) failed(t testing.TB, id string) string {
	t.Helper()
	key := b.dispatch(t, b.accept(t, id, "invoice.paid", `{"customer":"cus_42"}`), ledger.AtLeastOnce)
	b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 422, ResponseExcerpt: "no such customer", Error: "refused"})
	return key
}

// doubted returns the key of a new at_most_once effect that may have been applied.
func (b *bundle) doubted(t testing.TB, id string) string {
	t.Helper()
	key := b.dispatch(t, b.accept(t, id, "invoice.paid", `{}`), ledger.AtMostOnce)
	b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, Error: "timeout"})
	return key
}

// answer returns the response to a request.
func (b *bundle) answer(r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	b.ServeHTTP(recorder, r)
	return recorder
}

func (b *bundle) get(path string) *httptest.ResponseRecorder {
	return b.answer(httptest.NewRequest(http.MethodGet, path, http.NoBody))
}

func (b *bundle) post(path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.answer(r)
}

// page returns a page, which must exist.
func (b *bundle) page(t testing.TB, path string) string {
	t.Helper()
	got := b.get(path)
	require.Equal(t, http.StatusOK, got.Code, "%s: %s", path, got.Body)
	return got.Body.String()
}

func (b *bundle) effect(t testing.TB, key string) ledger.Effect {
	t.Helper()
	e, err := b.box.Ledger().Effect(t.Context(), key)
	require.NoError(t, err)
	return e
}
