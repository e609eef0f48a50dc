package backfill

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/fault"
)

// told is an event in a history, with the fate that was drawn for it.
type told struct {
	*happened
	fate

	punctual bool // listed before the next pass began
}

// history records what happens at a provider, and to the passes over its list.
type history struct {
	*world

	list  listing
	fault *fault.Fault

	// The fields below are guarded by the world's mu, because the API's handlers also use them.
	told      map[string]*told
	late      []*happened // webhooks that are still on their way
	hidden    []*happened
	troubles  []trouble
	request   int
	working   int                // running passes
	kill      context.CancelFunc // cancels the newest pass
	takeovers int
	arriving  sync.WaitGroup
	striking  sync.WaitGroup // requests that may cause trouble
	failures  []error        // errors of webhooks
}

// happens creates events with the given fates, and delivers the webhooks that are not late. An
// event that happens during a pass is not punctual: the list may show it where the pass has
// already read.
func (h *history) happens(fates []fate) {
	var now []*happened
	for _, f := range fates {
		eventType := h.list.eventType
		if f.Foreign {
			eventType = h.list.foreign
		}
		e := h.event(eventType, f.After, f.Hidden)
		h.mu.Lock()
		e.delivered = f.Claimed
		h.told[e.id] = &told{happened: e, fate: f, punctual: h.working == 0 && !f.Hidden}
		if f.Hidden {
			h.hidden = append(h.hidden, e)
		}
		for range f.Webhooks {
			if f.Late {
				h.late = append(h.late, e)
			} else {
				now = append(now, e)
			}
		}
		h.mu.Unlock()
	}
	h.deliverSoon(now)
}

// deliverSoon delivers webhooks in the background.
func (h *history) deliverSoon(webhooks []*happened) {
	h.arriving.Go(func() {
		if err := h.deliver(webhooks...); err != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.failures = append(h.failures, err)
		}
	})
}

// settle waits for the webhooks that are being delivered, and inserts the punctual events into
// the table "listed": see watched.
func (h *history) settle() {
	h.t.Helper()
	h.arriving.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(h.t, h.failures)
	var events []string
	var times []time.Time
	var places []int
	for _, e := range h.told {
		if e.punctual && !e.Foreign {
			events, times, places = append(events, e.id), append(times, e.at), append(places, h.place(e.happened))
		}
	}
	_, err := h.pool.Exec(h.t.Context(), `INSERT INTO listed SELECT $1, * FROM unnest($2::text[], $3::timestamptz[], $4::bigint[])
		ON CONFLICT DO NOTHING`, h.source.Name, events, times, places)
	require.NoError(h.t, err)
}

// place returns an event's position in a list without times, or in a feed.
func (h *history) place(e *happened) int {
	if h.provider.Name == "gitlab" {
		return gitlabNumber(e)
	}
	return slices.Index(h.feed, e)
}

// pass runs a pass over everything that has happened so far. It uses a new Backfill, which stands
// for another process.
func (h *history) pass(deep bool) error {
	h.mu.Lock()
	source, until := h.source, h.now
	h.working++
	ctx, cancel := context.WithCancel(h.t.Context())
	before := h.kill
	h.kill = cancel
	h.mu.Unlock()
	defer func() {
		cancel()
		read := h.readUntil()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kill = before
		h.working--
		if h.now.Before(read) { // on a busy machine, the pass began late: later events must happen after its period
			h.now = read
		}
	}()
	source.Settings.Lag = time.Since(until)
	if deep {
		source.Settings.Deep = time.Nanosecond
	}
	if err := h.outbox.Coverage().Hurry(ctx, []identitySource{identitySource(source.Name)}); err != nil {
		return err
	}
	return h.process(func() Source { return source }).Turn(ctx)
}

// endLease expires the lease of a pass, so that another pass can begin.
func (h *history) endLease() {
	if _, err := h.pool.Exec(context.Background(), `UPDATE hooklatch.coverage SET lease_until = '-infinity' WHERE source = $1`, h.source.Name); err != nil {
		panic(err)
	}
}

// calm ends all trouble, and waits for the requests that may still cause some. A cancelled pass
// does not wait for its request, which may still cancel the next pass or begin another one.
func (h *history) calm() {
	h.mu.Lock()
	h.troubles = nil
	h.mu.Unlock()
	h.striking.Wait()
}

// readUntil returns the time up to which passes have read, according to their watermark.
func (h *history) readUntil() (until time.Time) {
	if err := h.pool.QueryRow(context.Background(), `SELECT GREATEST(covered_until, pass_until) FROM hooklatch.coverage WHERE source = $1`, h.source.Name).Scan(&until); err != nil {
		panic(err)
	}
	return until
}

// meet decides what happens to a request. It is the function in world.refuse.
func (h *history) meet(out http.ResponseWriter, r *http.Request) bool {
	h.mu.Lock()
	at := h.request
	h.request++
	troubles := h.troubles
	if len(troubles) > 0 {
		h.striking.Add(1)
	}
	h.mu.Unlock()
	if len(troubles) > 0 {
		defer h.striking.Done()
	}
	for _, one := range troubles {
		if one.At == at && h.strike(out, one) {
			return true
		}
	}
	if r.Method != http.MethodPost {
		return false
	}
	parts := strings.Split(r.URL.Path, "/")
	e := h.delivery(parts[len(parts)-2])
	if e == nil {
		return false
	}
	h.mu.Lock()
	refusal := h.told[e.id].Refusal
	if refusal != 0 {
		h.asked[e.id]++
	}
	h.mu.Unlock()
	if refusal != 0 {
		out.WriteHeader(refusal)
	}
	return refusal != 0
}

// strike causes trouble, and reports whether it answered the request.
func (h *history) strike(out http.ResponseWriter, one trouble) bool {
	switch one.What {
	case "cancel":
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.kill != nil { // nil: the request's pass has ended meanwhile
			h.kill()
		}
	case "take over":
		h.mu.Lock()
		h.takeovers++
		h.mu.Unlock()
		h.endLease()
		_ = h.pass(false) // this pass may also fail
	case "500":
		out.WriteHeader(http.StatusInternalServerError)
		return true
	case "webhooks":
		h.mu.Lock()
		late := h.late
		h.late = nil
		h.mu.Unlock()
		h.deliverSoon(late)
	case "list":
		h.showAll()
	case "happen":
		h.happens(one.New)
	case "commit":
		h.fault.ArmAfter(one.Skip, one.Mode, one.N)
	case "refuse":
		h.refuseAfter(one.N * batchItems / 2)
	default:
		panic(fmt.Sprintf("no trouble: %s", one.What))
	}
	return false
}

// showAll makes the list show all hidden events.
func (h *history) showAll() {
	h.mu.Lock()
	hidden := h.hidden
	h.hidden = nil
	h.mu.Unlock()
	for _, e := range hidden {
		h.world.list(e)
	}
}

// refuseAfter makes the database refuse every batch after n more backfilled events.
func (h *history) refuseAfter(n int) {
	_, err := h.pool.Exec(context.Background(), `INSERT INTO refusals SELECT $1, $2 + count(*) FROM hooklatch.processed_events WHERE source = $1 AND origin = 'backfill'
		ON CONFLICT (source) DO UPDATE SET most = EXCLUDED.most`, h.source.Name, n)
	if err != nil {
		panic(err)
	}
}
