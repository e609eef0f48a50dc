// Package console serves the web pages for operators: events, their effects, alerts, and operator
// actions.
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
	"golang.org/x/time/rate"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/asset"
	"github.com/hooklatch/hooklatch/internal/program/console/shared"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/internal/program/standby"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
	"github.com/hooklatch/hooklatch/worker/alarm"
	"github.com/hooklatch/hooklatch/worker/route"
)

//go:embed page static
var files embed.FS

// Options configure a Console.
type Options struct {
	// Outbox stores the events and effects. Required.
	Outbox *outbox.Outbox
	// Status reads the data of the overview. Required; see NewStatus.
	Status func(ctx context.Context) (*doctor.Status, error)
	// Routes returns the routes of the current configuration. If nil, there are none.
	Routes func() Routes
	// Quarantine stores refused deliveries. Required.
	Quarantine Quarantine
	// Measure reads the counts of all processes. Required.
	Measure *measure.Reader
	// Standby is a standby of the database, and Shown reads the data of most pages from it. The
	// console uses Shown while the standby is usable. If Standby is nil, everything is read from
	// the primary.
	Standby *standby.Standby
	Shown   Shown
	// Sources and Destinations return the configured sources and destinations. They may be nil.
	Sources      func() []Source
	Destinations func() []Destination
	// Cell is the name of this cell, for commands. It may be empty.
	Cell string
	// Cells returns the other cells, for links to their consoles and for their alerts. If nil,
	// there are no other cells.
	Cells func(ctx context.Context) []Cell
	// FindInCells returns the things that a text names in the other cells. If nil, there are no
	// other cells.
	FindInCells func(ctx context.Context, asked lookup.Asked) []Cell
	// TestEvents delivers test events. If nil, the console sends none.
	TestEvents TestEvents
	// Try compiles a route that a user typed, and separately the configured route of the same name.
	// Problems of the typed route are returned as *RouteError. If nil, no route can be tried.
	Try func(text string) (Trial, error)
	// URL is the address at which users reach the console, such as
	// https://ops.example.com/hooklatch. Links begin with this URL's path, whether a proxy keeps or
	// strips the path.
	URL string
	// MaxRun is the maximum number of rows in a bulk run that a user with the role operator starts.
	// If 0, there is no limit.
	MaxRun int64
	// Sight defines who sees payloads, and who sees masked values in them.
	Sight desk.Sight
	// Reads records which payloads a user viewed or searched. If nil, nothing is recorded.
	Reads *signin.Reads
	// RiverUI is the URL of River UI, for links to jobs. If empty, there are no links.
	RiverUI string
	// Version is the program version.
	Version string
	// Logger defaults to a logger that discards all records.
	Logger *slog.Logger
	// Now defaults to clock.Now.
	Now func() time.Time
}

// Shown reads the data of pages from a standby.
type Shown struct {
	Outbox     *outbox.Outbox
	Quarantine Quarantine
	Measure    *measure.Reader
}

// Cell is another cell.
type Cell struct {
	Name string
	// Path is the path of the cell's console, relative to the path of this console and without a
	// slash at the end.
	Path string
	// Needs are the firing alerts of the cell. Only Options.Cells sets them.
	Needs []alarm.Alert
	// Hits are the things that a text names in the cell, and Unread the kinds that were not
	// searched. Only Options.FindInCells sets them.
	Hits   []lookup.Hit
	Unread []lookup.By
	// Away is the reason why the cell cannot do its work, or did not answer. It is empty if the
	// cell works.
	Away string
}

// Quarantine reads and verifies refused deliveries.
type Quarantine interface {
	Count(ctx context.Context, f quarantine.Filter) ([]quarantine.Share, error)
	List(ctx context.Context, f quarantine.Filter, limit int) ([]quarantine.Delivery, error)
	Next(ctx context.Context, f quarantine.Filter, after quarantine.Mark, limit int) ([]quarantine.Delivery, error)
	// WouldVerify returns the result of verifying a delivery with the current configuration, and
	// changes nothing.
	WouldVerify(ctx context.Context, d *quarantine.Delivery) (quarantine.Verdict, error)
	// Retry verifies a delivery again with the current configuration, and accepts it if it is
	// genuine.
	Retry(ctx context.Context, id uuid.UUID, by ledger.Operator) (quarantine.Retried, error)
}

// NewStatus returns a function for Options.Status, which reads through a pool.
func NewStatus(pool *pgxpool.Pool, opts doctor.StatusOptions) func(context.Context) (*doctor.Status, error) {
	opts.Pool, opts.Awaited = pool, true
	return func(ctx context.Context) (*doctor.Status, error) { return doctor.ReadStatus(ctx, opts) }
}

// Console serves the pages. It is safe for concurrent use and needs no shutdown.
type Console struct {
	opts       Options
	base       string // path of Options.URL, without a trailing slash
	finder     *find.Finder
	inbox      *inbox.Inbox
	ledger     *ledger.Ledger
	runs       *runs.Runs
	lookup     *lookup.Lookup
	assets     asset.Assets
	document   *api.Document
	templates  map[string]*template.Template
	handler    http.Handler
	searches   turns
	bodies     bodies
	tails      tails
	sending    *rate.Limiter // limits test events
	conditions *route.Conditions
	status     shared.Answer[*doctor.Status]
	shown      *Console                  // reads from Options.Standby; nil without one
	awaySince  atomic.Pointer[time.Time] // nil while the database responds
}

// New returns a console. It returns an error if a required option is missing or the URL is
// malformed.
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
		searches: newTurns(), bodies: newBodies(), tails: tails{of: map[string]*tail{}}, sending: newTestEventLimit(),
	}
	if c.conditions, err = route.NewConditions(); err != nil {
		return nil, err
	}
	c.finder = opts.Outbox.Finder().Brief(c.conditions.Compile)
	c.runs = opts.Outbox.Runs().With(opts.Outbox.Finder().With(c.conditions.Compile))
	c.lookup = lookup.New(lookup.Options{Outbox: opts.Outbox, Quarantine: opts.Quarantine, Names: func() lookup.Names {
		return lookup.Names{Sources: c.sourceNames(), Destinations: c.destinationNames(), Routes: c.routeNames(), Searched: c.searchedSources()}
	}})
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
	if opts.Standby != nil {
		reads := opts
		reads.Standby, reads.Outbox, reads.Quarantine, reads.Measure = nil, opts.Shown.Outbox, opts.Shown.Quarantine, opts.Shown.Measure
		c.shown, err = New(reads)
	}
	return c, err
}

// Needs returns the firing alerts that the overview shows.
func (c *Console) Needs(ctx context.Context) ([]alarm.Alert, error) {
	s, err := c.status.Get(ctx)
	if err != nil {
		return nil, err
	}
	return s.Needs, nil
}

// Find returns the things that a text names in the database of this console, and the kinds that
// this process cannot read. Destinations and routes are the same in all cells, and are left out.
func (c *Console) Find(ctx context.Context, asked lookup.Asked) (hits []lookup.Hit, unread []lookup.By, err error) {
	hits, unread, err = c.lookup.Find(ctx, asked)
	return slices.DeleteFunc(hits, func(h lookup.Hit) bool { return h.Of == desk.Destinations || h.Of == lookup.Routes }), unread, err
}

// Handler returns the handler for the pages, at / and below the path of Options.URL.
func (c *Console) Handler() http.Handler { return c.handler }

// entry is a page with its required role.
type entry struct {
	pattern string
	role    signin.Role
	page    page
}

// served returns the page with its checks: the caller must have the role, and can run only one
// payload search at a time.
func (e entry) served() page { return only(e.role, oneSearch(e.page)) }

// entries returns all pages and operator actions.
func entries() []entry {
	list := []entry{
		{"GET /{$}", signin.Viewer, showOverview},
		{"GET /events", signin.Viewer, fromStandby(listEvents)},
		{"GET /live", signin.Viewer, fromStandby(showLive)},
		{"GET /events/{source}/{id}", signin.Viewer, fromStandby(showEvent)},
		{"GET /events/{source}/{id}/raw", signin.Viewer, inDownload(sendRaw)},
		{"GET /effects", signin.Viewer, fromStandby(listEffects)},
		{"GET /effects/{key}", signin.Viewer, fromStandby(showEffect)},
		{"GET /effects/{key}/body", signin.Viewer, inDownload(sendBody)},
		{"GET /runs", signin.Viewer, fromStandby(listRuns)},
		{"GET /runs/new", signin.Operator, previewRun},
		{"POST /runs/new", signin.Operator, beginRun},
		{"GET /runs/{id}", signin.Viewer, fromStandby(showRun)},
		{"GET /destinations", signin.Viewer, listDestinations},
		{"GET /destinations/{name}", signin.Viewer, fromStandby(showDestination)},
		{"GET /routes", signin.Viewer, fromStandby(listRoutes)},
		{"GET /routes/{name}", signin.Viewer, fromStandby(showRoute)},
		{"GET /try", signin.Viewer, askTry},
		{"POST /try", signin.Viewer, inTurn(tryRoute)},
		{"GET /sources", signin.Viewer, listSources},
		{"GET /sources/{name}", signin.Viewer, fromStandby(showSource)},
		{"GET /sources/{name}/send", signin.Operator, askSend},
		{"POST /sources/{name}/send", signin.Operator, sendEvent},
		{"GET /quarantine", signin.Viewer, fromStandby(listQuarantine)},
		{"GET /quarantine/{id}", signin.Viewer, fromStandby(showRefused)},
		{"GET /quarantine/{id}/verify", signin.Operator, askVerifyOne},
		{"POST /quarantine/{id}/verify", signin.Operator, orderVerifyOne},
		{"GET /quarantine/verify", signin.Operator, askVerify},
		{"POST /quarantine/verify", signin.Operator, orderVerify},
		{"GET /numbers", signin.Viewer, fromStandby(showNumbers)},
		{"GET /audit", signin.Admin, fromStandby(listActions)},
		{"GET /find", signin.Viewer, fromStandby(findAnything)},
		{"GET /jump", signin.Viewer, fromStandby(findAnything)}, // the former address
		{"GET /help", signin.Viewer, showHelp},
		{"POST /look", signin.Viewer, chooseLook},
		{"GET /", signin.Viewer, nowhere},
	}
	for _, d := range doors() {
		list = append(list, entry{"GET " + d.page + "/{action}", signin.Operator, d.ask}, entry{"POST " + d.page + "/{action}", signin.Operator, d.order})
		if d.several != nil {
			list = append(list, entry{"POST " + d.selected(), signin.Operator, d.orderSelected})
		}
	}
	return list
}

// staticPattern is the pattern for the static files.
const staticPattern = "GET /static/{hash}/{file...}"

// Routes returns the HTTP routes of the console and of its API, with the required roles.
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

// moved redirects the former addresses of bulk runs, which bookmarks, job links and API clients may
// still use. The redirect will be removed in the next release.
func (c *Console) moved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, below := range []string{"", "/api"} {
			if rest, was := strings.CutPrefix(r.URL.EscapedPath(), below+"/replays"); was && (rest == "" || rest[0] == '/') {
				to := url.URL{Path: c.base + below + "/runs", RawQuery: r.URL.RawQuery}
				http.Redirect(w, r, to.JoinPath(rest).String(), http.StatusPermanentRedirect) //nolint:gosec // the path begins with the console's path
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
