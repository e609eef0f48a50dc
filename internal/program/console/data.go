package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/find"
)

// onlyPages returns the patterns of pages without a counterpart in the API: forms, confirmations,
// actions on selected rows, the live page, the former address of the search, help, the choice of
// appearance, and the page for unknown paths. For unknown paths, the API has a separate response.
func onlyPages() []string {
	only := []string{"GET /quarantine/verify", "GET /quarantine/{id}/verify", "GET /live", "GET /try", "GET /sources/{name}/send", "GET /jump", "GET /help", "POST /look", "GET /"}
	for _, d := range doors() {
		only = append(only, "GET "+d.page+"/{action}")
		if d.several != nil {
			only = append(only, "POST "+d.selected())
		}
	}
	return only
}

// dataRoutes returns the handler for the API below /api. The API has the same paths and queries as
// the pages, and calls the same functions.
func (c *Console) dataRoutes() http.Handler {
	mux := http.NewServeMux()
	for _, e := range entries() {
		if !slices.Contains(onlyPages(), e.pattern) {
			mux.Handle(e.pattern, c.serve(true, entry{e.pattern, e.role, c.orderOf(e)}.served()))
		}
	}
	mux.Handle("GET /openapi.json", c.serve(true, only(signin.Viewer, func(r *request) error {
		r.document.ServeHTTP(r.w, r.Request)
		return nil
	})))
	mux.Handle("/", c.serve(true, func(r *request) error { return noSuchPath(mux, r) }))
	return http.StripPrefix("/api", mux)
}

// orData serves data below /api, and pages everywhere else.
func (c *Console) orData(pages http.Handler) http.Handler {
	data := c.dataRoutes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api" && !strings.HasPrefix(r.URL.Path, "/api/") {
			pages.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/api" { // a redirect would lose the console's path
			r = r.Clone(r.Context())
			r.URL.Path += "/"
		}
		data.ServeHTTP(w, r)
	})
}

// orderOf returns the page that the API serves for an entry. A POST request to this page contains
// JSON instead of a form.
func (c *Console) orderOf(e entry) page {
	if !strings.HasPrefix(e.pattern, http.MethodPost+" ") {
		return e.page
	}
	takes := c.document.Takes(api.PathOf(e.pattern))
	return func(r *request) error {
		form, err := api.ReadOrder(r.w, r.Request, takes)
		if wrong, is := errors.AsType[*api.OrderError](err); is {
			return &problem{status: wrong.Status, heading: "This request cannot be read", text: wrong.Why}
		}
		if once := form.Get("once"); once != "" && uuid.Validate(once) != nil {
			return &problem{status: http.StatusBadRequest, heading: "This request cannot be read", text: "\"once\" must be a UUID."}
		}
		r.PostForm = form
		r.Form = r.URL.Query()
		// Pages may send empty parameters. A program may send one by mistake, because a variable is
		// unset. Without the intended filter, the action would select every row.
		for name, values := range r.Form {
			if slices.Contains(values, "") {
				return &problem{status: http.StatusBadRequest, heading: "This request cannot be read", text: fmt.Sprintf("The parameter %q is empty: give a value or omit the parameter.", name)}
			}
		}
		return e.page(r)
	}
}

// noSuchPath returns an error that lists the path's methods, or says that the path does not exist.
func noSuchPath(mux *http.ServeMux, r *request) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := *r.Request
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return &problem{status: http.StatusNotFound, heading: "Path not found", text: "The paths of the API are listed in /api/openapi.json."}
	}
	r.w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &problem{status: http.StatusMethodNotAllowed, heading: "Method not allowed", text: "This path accepts " + strings.Join(allowed, " or ") + "."}
}

// rows is the JSON of a complete list.
type rows[Row any] struct {
	Rows []Row `json:"rows"`
}

// found is the JSON of one page of a list.
type found[Row any] struct {
	rows[Row]

	// Next is the position at which to continue, if there may be more rows.
	Next find.Cursor `json:"next,omitzero"`
	More bool        `json:"more"`
	// Looked is the number of rows that were searched, and Back the time at which the last of them
	// was received or created.
	Looked int        `json:"looked"`
	Back   *time.Time `json:"back"`
	// Unclear counts rows for which the condition failed, and Bodiless counts rows whose body is no
	// longer stored. Rows does not contain either kind.
	Unclear    int    `json:"unclear,omitzero"`
	WhyUnclear string `json:"why_unclear,omitzero"`
	Bodiless   int    `json:"bodiless,omitzero"`
}

func (l listing[Row]) data() (any, error) {
	if l.Wrong != nil {
		return nil, l.Wrong
	}
	f := found[Row]{
		rows: rows[Row]{orEmpty(l.Rows)}, More: l.More, Looked: l.Looked, Back: plainjson.OrNull(l.Back),
		Unclear: l.Page.Unclear, WhyUnclear: l.Unclear, Bodiless: l.Bodiless,
	}
	if l.More {
		f.Next = l.Next
	}
	return f, nil
}

// orEmpty returns list, or an empty list if list is nil, so that its JSON is never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
