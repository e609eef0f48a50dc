// Package console serves the pages that operators keep open: what came in, what it led
// to, what needs attention, and what an operator does about it.
package console

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/asset"
	"github.com/hooklatch/hooklatch/internal/program/console/shared"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/route"
)

//go:embed page static
var files embed.FS

// Options configure a Console.
type Options struct {
	// Outbox holds the events and effects that are shown. Required.
	Outbox *outbox.Outbox
	// Status reads what the first page shows. Required: see NewStatus.
	Status func(ctx context.Context) (*doctor.Status, error)
	// Routes are those of the configuration of now. Nil: they are not explained.
	Routes func() (*route.Table, error)
	// Quarantine is what was refused. Required.
	Quarantine Quarantine
	// Measure reads what all processes counted, and how destinations do. Required.
	Measure *measure.Reader
	// Sources and Destinations are those of the configuration of now. They may be nil.
	Sources      func() []Source
	Destinations func() []Destination
	// URL is where people reach the console, like https://ops.example.com/hooklatch:
	// links begin with its path, whether a proxy keeps that path or takes it away.
	URL string
	// MaxRun is how many events or effects a run of an operator may concern.
	MaxRun int64
	// Sight says who sees payloads.
	Sight desk.Sight
	// Reads is told of every payload that somebody saw. Nil: nobody is.
	Reads *signin.Reads
	// RiverUI is where River UI runs, for links to jobs. Empty: there are none.
	RiverUI string
	// Version is that of the program.
	Version string
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to that of package clock.
	Now func() time.Time
}

// Quarantine is what was refused, and is kept for a while.
type Quarantine interface {
	Count(ctx context.Context, f quarantine.Filter) ([]quarantine.Share, error)
	List(ctx context.Context, f quarantine.Filter, limit int) ([]quarantine.Delivery, error)
	Next(ctx context.Context, f quarantine.Filter, after quarantine.Mark, limit int) ([]quarantine.Delivery, error)
	// WouldVerify tells what a verification by the configuration of now would say, and
	// changes nothing.
	WouldVerify(ctx context.Context, d *quarantine.Delivery) (quarantine.Verdict, error)
	// Retry verifies one again, by the configuration of now.
	Retry(ctx context.Context, id uuid.UUID, by ledger.Operator) (quarantine.Retried, error)
}

// NewStatus reads the status of the tables of a pool.
func NewStatus(pool *pgxpool.Pool, opts doctor.StatusOptions) func(context.Context) (*doctor.Status, error) {
	opts.Pool, opts.Awaited = pool, true
	return func(ctx context.Context) (*doctor.Status, error) { return doctor.ReadStatus(ctx, opts) }
}

// Console serves the pages. It is safe for concurrent use, and has nothing to stop.
type Console struct {
	opts       Options
	base       string // path of Options.URL, without a slash at its end
	finder     *find.Finder
	inbox      *inbox.Inbox
	ledger     *ledger.Ledger
	runs       *runs.Runs
	assets     asset.Assets
	document   *api.Document
	templates  map[string]*template.Template
	handler    http.Handler
	searches   searches
	conditions *route.Conditions
	status     shared.Answer[*doctor.Status]
	awaySince  atomic.Pointer[time.Time] // nil while the database answers
}

// New checks opts and reads the templates.
func New(opts Options) (*Console, error) {
	if opts.Outbox == nil || opts.Status == nil || opts.Quarantine == nil || opts.Measure == nil {
		return nil, errors.New("console options: Outbox, Status, Quarantine and Measure are required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = clock.Now
	}
	at, err := url.Parse(opts.URL)
	if err != nil {
		return nil, fmt.Errorf("console options: URL: %w", err)
	}
	c := &Console{
		opts: opts, base: signin.BaseOf(at),
		inbox: opts.Outbox.Inbox(), ledger: opts.Outbox.Ledger(),
		searches: searches{of: map[searcher]*turn{}},
	}
	if c.conditions, err = route.NewConditions(); err != nil {
		return nil, err
	}
	c.finder = opts.Outbox.Finder().Brief(c.conditions.Compile)
	c.runs = opts.Outbox.Runs().With(opts.Outbox.Finder().With(c.conditions.Compile))
	c.status.Ask, c.status.Now = opts.Status, opts.Now
	if c.assets, err = asset.Read(files); err != nil {
		return nil, err
	}
	if c.templates, err = c.readTemplates(files); err != nil {
		return nil, err
	}
	if c.document, err = api.ReadDocument(documented(c.base, opts.Version)); err != nil {
		return nil, err
	}
	c.handler = c.routes()
	return c, nil
}

// Handler serves the pages at /, and below the path of Options.URL.
func (c *Console) Handler() http.Handler { return c.handler }

// entry is a page with who may ask for it.
type entry struct {
	pattern string
	role    signin.Role
	page    page
}

// served is the page as it is served: to whoever has the role, one search at a time.
func (e entry) served() page { return only(e.role, oneSearch(e.page)) }

// entries are all pages and orders.
func entries() []entry {
	list := []entry{
		{"GET /{$}", signin.Viewer, showOverview},
		{"GET /events", signin.Viewer, listEvents},
		{"GET /events/{source}/{id}", signin.Viewer, showEvent},
		{"GET /events/{source}/{id}/raw", signin.Viewer, sendRaw},
		{"GET /effects", signin.Viewer, listEffects},
		{"GET /effects/{key}", signin.Viewer, showEffect},
		{"GET /effects/{key}/body", signin.Viewer, sendBody},
		{"GET /runs", signin.Viewer, listRuns},
		{"GET /runs/new", signin.Operator, previewRun},
		{"POST /runs/new", signin.Operator, beginRun},
		{"GET /runs/{id}", signin.Viewer, showRun},
		{"GET /destinations", signin.Viewer, listDestinations},
		{"GET /destinations/{name}", signin.Viewer, showDestination},
		{"GET /sources", signin.Viewer, listSources},
		{"GET /sources/{name}", signin.Viewer, showSource},
		{"GET /quarantine", signin.Viewer, listQuarantine},
		{"GET /quarantine/{id}", signin.Viewer, showRefused},
		{"GET /quarantine/{id}/verify", signin.Operator, askVerifyOne},
		{"POST /quarantine/{id}/verify", signin.Operator, orderVerifyOne},
		{"GET /quarantine/verify", signin.Operator, askVerify},
		{"POST /quarantine/verify", signin.Operator, orderVerify},
		{"GET /audit", signin.Admin, listActions},
		{"GET /jump", signin.Viewer, jump},
		{"GET /help", signin.Viewer, showHelp},
		{"POST /look", signin.Viewer, chooseLook},
		{"GET /", signin.Viewer, nowhere},
	}
	for _, d := range doors() {
		list = append(list, entry{"GET " + d.page + "/{action}", signin.Operator, d.ask}, entry{"POST " + d.page + "/{action}", signin.Operator, d.order})
	}
	return list
}

// staticPattern is that of what pages are made of.
const staticPattern = "GET /static/{hash}/{file...}"

// Routes are all addresses of the console.
func (c *Console) Routes() []signin.Route {
	list := []signin.Route{{Pattern: staticPattern, Open: true}, {Pattern: "GET /api/openapi.json", Role: signin.Viewer}}
	for _, e := range entries() {
		list = append(list, signin.Route{Pattern: e.pattern, Role: e.role})
		if method, path, _ := strings.Cut(e.pattern, " "); !slices.Contains(onlyPages(), e.pattern) {
			list = append(list, signin.Route{Pattern: method + " /api" + path, Role: e.role})
		}
	}
	return list
}

func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	for _, e := range entries() {
		mux.Handle(e.pattern, c.serve(false, e.served()))
	}
	mux.Handle(staticPattern, c.assets)
	return signin.AtBase(c.base, c.moved(c.orData(mux)))
}

// moved redirects the addresses that bulk runs had before they were called runs: bookmarks,
// links in jobs, and programs that ask the API. It goes with the next release.
func (c *Console) moved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, below := range []string{"", "/api"} {
			if rest, was := strings.CutPrefix(r.URL.EscapedPath(), below+"/replays"); was && (rest == "" || rest[0] == '/') {
				to := url.URL{Path: c.base + below + "/runs", RawQuery: r.URL.RawQuery}
				http.Redirect(w, r, to.JoinPath(rest).String(), http.StatusPermanentRedirect) //nolint:gosec // it begins with the path of the console
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
