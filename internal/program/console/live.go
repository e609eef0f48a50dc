package console

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/console/shared"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

const (
	// rowsLive is the number of rows on the live page.
	rowsLive = 100
	// liveEvery is the number of seconds after which a browser without scripts reloads the live
	// page.
	liveEvery = 5
	// maxTails is the maximum number of filters whose rows are shared.
	maxTails = 64
	// tailIdle is how long a filter may be unused before its rows are dropped.
	tailIdle = time.Minute
)

// eventPages is a page of events.
type eventPages = find.Page[*inbox.Event]

// tail holds the newest events that match one filter, for all users who watch it.
type tail struct {
	shared.Answer[eventPages]

	used time.Time
}

// tails contains the tails of the watched filters, by query. Events are read only when a page
// requests them.
type tails struct {
	mu sync.Mutex
	of map[string]*tail
}

// named returns the tail of a filter, and creates the tail if there is none. The function ask reads
// the rows of a new tail.
func (t *tails) named(query string, now func() time.Time, ask func(context.Context) (eventPages, error)) *tail {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := now()
	one := t.of[query]
	if one == nil {
		one = &tail{Answer: shared.Answer[eventPages]{Ask: ask, Now: now}}
		if maps.DeleteFunc(t.of, func(_ string, other *tail) bool { return at.Sub(other.used) > tailIdle }); len(t.of) < maxTails {
			t.of[query] = one // otherwise the rows are not shared
		}
	}
	one.used = at
	return one
}

// liveFields returns the fields of the live page's filter. The page shows the newest events, so the
// filter has no time range.
func liveFields(r *request) []field {
	return slices.DeleteFunc(eventFields(r), func(f field) bool { return f.Name == "since" || f.Name == "until" })
}

// showLive shows the newest events as they arrive.
func showLive(r *request) error {
	q := readQuery(liveFields(r), r.URL.Query())
	q.Cursor = find.Beginning
	shown := listing[*inbox.Event]{view: r.view("live", "Live"), What: "events", Command: "events list", Query: q, Live: true, Paused: r.URL.Query().Has("pause")}
	if !shown.Paused {
		shown.Refresh = liveEvery
	}
	err := list(r, shown, func(ctx context.Context, _ int) (eventPages, error) {
		filter, err := eventFilter(r, q)
		if err != nil {
			return eventPages{}, err
		}
		watched := r.tails.named(q.Encode(find.Beginning), r.opts.Now, func(ctx context.Context) (eventPages, error) {
			return r.finder.Events(ctx, filter, find.Beginning, rowsLive)
		})
		return watched.Get(ctx)
	})
	if err == nil {
		return nil
	}
	told := r.tell(err)
	if told.status == http.StatusServiceUnavailable {
		told.again = shown.Refresh
	}
	return told
}

// PauseLink returns the query of the live page without automatic refresh.
func (l listing[Row]) PauseLink() string {
	query := l.Query.Encode(find.Beginning)
	if query == "" {
		return "?pause=1"
	}
	return query + "&pause=1"
}
