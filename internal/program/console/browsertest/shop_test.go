package browsertest

import (
	"context"
	_ "embed"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema/pgtest"
	"github.com/hooklatch/hooklatch/worker/destination"
	"github.com/hooklatch/hooklatch/worker/route"
)

//go:embed testdata/shop.sql
var shopSQL string

// moment is the shop's fixed time.
const moment = "2026-11-20 14:12:00+00"

// shop returns a console for an invented shop with a fixed clock. Its pages are the same in every
// run.
func shop(t *testing.T) (site string, pool *pgxpool.Pool) {
	t.Helper()
	filling := pgtest.New(t)
	conn, err := filling.Acquire(t.Context())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), strings.ReplaceAll(shopSQL, ":now", moment))
	conn.Release()
	require.NoError(t, err)
	config, err := pgxpool.ParseConfig(pgtest.URL(t, filling))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["search_path"] = "shop, pg_catalog, public"
	pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)

	box, err := outbox.New(outbox.Options{Pool: pool, AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	refused, err := quarantine.New(quarantine.Options{Pool: pool, Ledger: box.Ledger()})
	require.NoError(t, err)
	measured, err := measure.NewReader(pool, "")
	require.NoError(t, err)
	now, err := time.Parse("2006-01-02 15:04:05-07", moment)
	require.NoError(t, err)
	read := console.NewStatus(pool, doctor.StatusOptions{AllowFsyncOff: true})
	c, err := console.New(console.Options{
		Outbox: box, Status: func(ctx context.Context) (*doctor.Status, error) {
			s, err := read(ctx)
			if err == nil {
				s.Server = nil // contains findings about the test server, which a real shop's server would not cause
			}
			return s, err
		}, Measure: measured,
		Quarantine: stillRefused{refused}, Routes: shopRoutes, Sources: func() []console.Source { return shopSources(t) }, Destinations: shopDestinations,
		Version: "v1.0.0", Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	person := signin.Person{Name: "ada", Role: signin.Admin, Way: "oidc"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Handler().ServeHTTP(w, r.WithContext(signin.WithPerson(r.Context(), person)))
	}))
	t.Cleanup(server.Close)
	first, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, first.Body.Close())
	require.Equal(t, http.StatusOK, first.StatusCode, "this request reads the badges that all pages show")
	return server.URL, pool
}

// stillRefused is a quarantine in which only deliveries that were refused for wrong_signature pass
// verification.
type stillRefused struct{ *quarantine.Quarantine }

// WouldVerify implements console.Quarantine.
func (stillRefused) WouldVerify(_ context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
	if d.Reason == "wrong_signature" {
		return quarantine.Verdict{New: true}, nil
	}
	return quarantine.Verdict{Refused: d.Reason}, nil
}

// Retry implements console.Quarantine.
func (q stillRefused) Retry(ctx context.Context, id uuid.UUID, by ledger.Operator) (quarantine.Retried, error) {
	return q.Quarantine.Retry(ctx, id, by, q.WouldVerify)
}

func shopSources(t *testing.T) []console.Source {
	t.Helper()
	var list []console.Source
	for _, name := range []string{"github", "shopify", "slack", "stripe"} {
		p, err := catalog.New(name, provider.Options{})
		require.NoError(t, err)
		list = append(list, console.Source{
			Name: name, Provider: name, URL: "https://hooks.example.com/webhooks/" + name, Setup: p.About.Setup, Notes: p.About.Notes, Docs: p.About.Docs,
			Secrets: []string{"aaaa", "bbbb"}[:1+len(name)/6], // one for slack, two for the others
		})
	}
	return list
}

func shopDestinations() []console.Destination {
	return []console.Destination{
		{Name: "app", Kind: "http", Target: "https://shop.example.com/hooks", Policy: "at_least_once", Concurrency: 20},
		{Name: "crm", Kind: "http", Target: "https://crm.example.com/api/v2/customers", Policy: "at_least_once", Concurrency: 10, Rate: "50/s"},
		{Name: "mail", Kind: "email", Target: "smtp.example.com:587", Policy: "at_most_once", Concurrency: 4},
		{Name: "warehouse", Kind: "http", Target: "https://wms.example.com/orders", Policy: "at_least_once", Concurrency: 10},
	}
}

func shopRoutes() (current console.Routes) {
	var targets []route.Target
	for _, d := range shopDestinations() {
		sender, err := destination.NewHTTP(destination.HTTPOptions{Name: d.Name, URL: "https://" + d.Name + ".example.com/"})
		if err != nil {
			return console.Routes{Err: err}
		}
		targets = append(targets, route.Target{Name: d.Name, Queue: "dst_" + d.Name, Policy: ledger.Policy(d.Policy), Sender: sender})
	}
	configured := []route.Route{
		{Name: "everything", From: []string{"stripe", "github", "shopify"}, To: "app"},
		{Name: "dunning", From: []string{"stripe"}, Types: []string{"invoice.*"}, When: "body.data.object.amount_due > 0", To: "mail"},
		{Name: "customers", From: []string{"stripe"}, Types: []string{"customer.*", "charge.refunded"}, To: "crm"},
		{Name: "orders", From: []string{"shopify"}, To: "warehouse"},
	}
	for _, one := range configured {
		current.List = append(current.List, routes.Route{Name: one.Name, From: one.From, Types: one.Types, When: one.When, Destination: one.To})
	}
	current.Table, current.Err = route.Compile(route.Options{Targets: targets, Routes: configured})
	return current
}
