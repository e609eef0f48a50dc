package backfill

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// watched makes the database record every listed event that is not stored when the watermark moves
// beyond it. It also makes the database refuse a batch after a number of events.
const watched = `
	CREATE TABLE listed (source text, event_id text, at timestamptz NOT NULL, place bigint NOT NULL, PRIMARY KEY (source, event_id));
	CREATE TABLE beyond (source text NOT NULL, event_id text NOT NULL, watermark text NOT NULL);
	CREATE TABLE refusals (source text PRIMARY KEY, most bigint NOT NULL);

	CREATE FUNCTION look_beyond() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO beyond
		SELECT l.source, l.event_id, NEW.covered_until::text || ' ' || NEW.mark
		FROM listed AS l
		WHERE l.source = NEW.source
			AND %s
			AND NOT EXISTS (SELECT FROM hooklatch.processed_events AS e WHERE e.source = l.source AND e.event_id = l.event_id);
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER look_beyond AFTER UPDATE ON hooklatch.coverage
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.%s <> OLD.%[2]s) EXECUTE FUNCTION look_beyond();

	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (
			SELECT FROM refusals AS r WHERE r.source IN (SELECT source FROM came WHERE origin = 'backfill')
				AND (SELECT count(*) FROM hooklatch.processed_events AS e WHERE e.source = r.source AND e.origin = 'backfill') > r.most
		) THEN RAISE 'refused here'; END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER refuse AFTER INSERT ON hooklatch.processed_events REFERENCING NEW TABLE AS came
		FOR EACH STATEMENT EXECUTE FUNCTION refuse()`

// watermark returns an SQL condition that is true if the watermark covers an event, and the column
// that contains the watermark.
func watermark(name string) (isBehind, column string) {
	switch name {
	case "gitlab":
		return "l.place <= NEW.mark::bigint", "mark"
	case "okta":
		return "l.place < substring(NEW.mark FROM 'after=([0-9]+)')::bigint", "mark"
	}
	return "l.at < NEW.covered_until", "covered_until"
}

// An event's webhook may arrive once, twice, late, during a pass, or never. Passes are killed at
// any point, overtaken or refused, or lose a COMMIT response. At the end, each event is stored once
// and dispatched once, and is counted as recovered if no webhook delivered it. A watermark is never
// beyond a listed event that is not stored.
func TestPropertyListedEventsAreStoredOnce(t *testing.T) {
	t.Parallel()
	for name, list := range listings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, f := newFaulty(t, nil)
			isBehind, column := watermark(name)
			_, err := db.pool.Exec(t.Context(), fmt.Sprintf(watched, isBehind, column))
			require.NoError(t, err)
			checks := 0
			rapid.Check(t, func(t *rapid.T) {
				checks++
				f.Arm("", 0)
				h := &history{world: newWorldOn(t, db, fmt.Sprint(name, checks), name, list.endpoint), list: list, fault: f, told: map[string]*told{}}
				h.perPage = rapid.SampledFrom([]int{0, 7}).Draw(t, "per page")
				h.begin()
				for range rapid.IntRange(1, 4).Draw(t, "rounds") {
					n := rapid.SampledFrom([]int{2, 15, batchItems / 2, batchItems + 10, 2*batchItems + 10}).Draw(t, "number")
					h.happens(rapid.SliceOfN(rapid.Custom(drawFate), n, n).Draw(t, "events"))
					h.rest(rapid.SampledFrom([]time.Duration{0, 2 * time.Second, 5 * time.Minute, 40 * time.Minute}).Draw(t, "rest"))
					h.settle()
					h.mu.Lock()
					h.troubles, h.request = rapid.SliceOfN(rapid.Custom(drawTrouble), 0, 4).Draw(t, "troubles"), 0
					h.mu.Unlock()
					_ = h.pass(rapid.IntRange(0, 5).Draw(t, "deep") == 5) // the pass may fail because of the troubles
					h.calm()
				}
				h.heal()
			})
		})
	}
}

// begin subscribes to one type, makes meet handle the requests, and sets the provider's clock back
// by more than the history's duration.
func (h *history) begin() {
	h.t.Helper()
	h.subscribe(h.list.eventType)
	h.refuse = h.meet
	h.now = time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	h.source.Settings.Overlap = 10 * time.Minute
	_, err := h.pool.Exec(h.t.Context(), "UPDATE hooklatch.coverage SET created_at = $2, covered_until = $2 WHERE source = $1", h.source.Name, h.now.Add(-time.Hour))
	require.NoError(h.t, err)
}

func (h *history) rest(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// heal ends all trouble. It checks that passes store the events that were listed within the
// overlap, and that the pass over the complete window stores the rest.
func (h *history) heal() {
	h.t.Helper()
	h.fault.Arm("", 0)
	_, err := h.pool.Exec(h.t.Context(), "DELETE FROM refusals WHERE source = $1", h.source.Name)
	require.NoError(h.t, err)
	h.showAll()
	h.rest(2 * time.Second) // passes end on whole seconds
	h.settle()
	soon := h.within()
	h.untilWhole(false)
	require.Subset(h.t, h.column(storedEvents), soon, "the events listed within the overlap")
	h.untilWhole(true)
	h.requireAll()
	before := h.recovered()
	h.deliverSoon(h.late)
	h.settle()
	h.untilWhole(false)
	h.requireAll()
	require.Equal(h.t, before, h.recovered(), "webhooks after all passes recover nothing")
}

const storedEvents = "SELECT event_id FROM hooklatch.processed_events WHERE source = $1"

// within returns the events that passes must find without a deep pass.
func (h *history) within() (soon []string) {
	h.t.Helper()
	var covered time.Time
	var mark string
	require.NoError(h.t, h.pool.QueryRow(h.t.Context(), "SELECT GREATEST(covered_until, pass_until), mark FROM hooklatch.coverage WHERE source = $1", h.source.Name).Scan(&covered, &mark))
	for _, e := range h.told {
		switch {
		case e.Foreign:
		case e.punctual, h.provider.Name == "okta",
			h.provider.Name == "gitlab" && larger(strconv.Itoa(gitlabNumber(e.happened)), mark),
			h.provider.Name != "gitlab" && !e.at.Before(covered.Add(time.Second-h.source.Settings.Overlap)):
			soon = append(soon, e.id)
		}
	}
	return soon
}

// maxPasses limits the passes that untilWhole runs. Only redeliveries need several passes, and on
// a busy machine the database may cause a pass to fail.
const maxPasses = 50

// untilWhole runs passes until two in a row have finished without an error and no redelivery is
// outstanding. No other pass is running, so any lease belongs to a pass that could not record its
// end.
func (h *history) untilWhole(deep bool) {
	h.t.Helper()
	for whole, passes := 0, 0; whole < 2; whole++ {
		passes++
		require.LessOrEqual(h.t, passes, maxPasses, "the passes do not finish: %+v", h.state())
		h.endLease()
		before := h.lastRun().ID
		err := h.pass(deep)
		for id, times := range h.asked {
			require.LessOrEqual(h.t, times, 3+h.takeovers, "redelivery of %s", id)
		}
		if run := h.lastRun(); err != nil || run.ID == before || run.EndedAt.IsZero() || run.Error != "" || h.state().Waiting > 0 {
			whole = -1
		}
	}
}

// requireAll checks that each event is stored, dispatched and counted as the property requires,
// and that no watermark moved beyond an event that was not stored.
func (h *history) requireAll() {
	h.t.Helper()
	var all []string
	for _, e := range h.told {
		if e.Foreign {
			continue
		}
		all = append(all, e.id)
		switch {
		case e.Webhooks == 0:
			require.True(h.t, h.isRecovered(e.happened), "no webhook delivered %s", e.id)
		case e.punctual && !e.Late:
			require.False(h.t, h.isRecovered(e.happened), "a webhook delivered %s before all passes", e.id)
		}
	}
	require.ElementsMatch(h.t, all, h.column(storedEvents))
	require.ElementsMatch(h.t, all, h.dispatched())
	require.Equal(h.t, h.brought(), h.recovered())
	require.Empty(h.t, h.column("SELECT event_id || ' ' || watermark FROM beyond WHERE source = $1"), "watermarks beyond an event that is not stored")
}
