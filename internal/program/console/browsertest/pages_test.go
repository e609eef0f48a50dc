package browsertest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// shownPage is a page of the console.
type shownPage struct {
	name   string
	path   string
	status int64
	has    string // a part of the page's text
	states bool   // true if the page shows states
}

// pages returns the pages for a system with data.
func pages(t *testing.T, s *system) []shownPage {
	t.Helper()
	s.invoice(t, "1001", "cus_7")
	s.invoice(t, "1002", "cus_42")
	s.deliver(t, "evt_refund", "charge.refunded", `{"id": "ch_1", "customer": "cus_7"}`)
	s.deliver(t, "evt_long_"+longID, "customer.updated", `{"id": "cus_7", "note": "`+longID+longID+`"}`)
	done, failed := s.effect(t, "evt_1001", "app", ledger.EffectDone), s.effect(t, "evt_1001", "mail", ledger.EffectFailed)
	parked := s.effect(t, "evt_refund", "once", ledger.EffectParked)
	s.settled(t, 4)
	s.forge(t)
	s.order(t, "/destinations/mail/pause")
	s.order(t, "/destinations/mail/resume")
	// An effect waits, and has been due for a long time.
	s.order(t, "/destinations/once/pause")
	s.deliver(t, "evt_waiting", "charge.refunded", `{"id": "ch_2", "customer": "cus_7"}`)
	s.effect(t, "evt_waiting", "once", ledger.EffectPending)
	_, err := s.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET next_attempt_at = now() - interval '18 minutes' WHERE event_id = 'evt_waiting'`)
	require.NoError(t, err)
	// One of two bulk runs finishes immediately; the other is paused.
	s.orderWith(t, "/runs/new?of=effects&state=failed&type=none", `{"name": "mail again", "pace": 1}`)
	s.orderWith(t, "/runs/new?of=effects&state=failed&type=none", `{"name": "later"}`)
	_, err = s.pool.Exec(t.Context(), `UPDATE hooklatch.replay_runs SET state = 'paused', worker = NULL WHERE id = 2`)
	require.NoError(t, err)
	condition := url.Values{"when": {`body.data.object.customer == "cus_42"`}}.Encode()
	unreadable := url.Values{"when": {`body.data.object. == `}}.Encode()
	return []shownPage{
		{"overview", "/", http.StatusOK, "Destinations", false},
		{"events", "/events", http.StatusOK, "evt_1001", true},
		{"events with a condition", "/events?" + condition, http.StatusOK, "evt_1002", true},
		{"events with a condition that cannot be read", "/events?" + unreadable, http.StatusBadRequest, "cannot be read", false},
		{"event", "/events/stripe/evt_1001", http.StatusOK, "Current routes", true},
		{"event with a long id", "/events/stripe/evt_long_" + longID, http.StatusOK, "Current routes", true},
		{"effects", "/effects", http.StatusOK, "parked", true},
		{"effect that is done", "/effects/" + done, http.StatusOK, "done", true},
		{"effect that failed", "/effects/" + failed, http.StatusOK, refusal, true},
		{"effect in doubt, parked", "/effects/" + parked, http.StatusOK, "The effect may have been applied", true},
		{"question", "/effects/" + failed + "/retry", http.StatusOK, "Retry this effect?", false},
		{"question about an effect in doubt", "/effects/" + parked + "/retry", http.StatusOK, "I have checked the receiver", false},
		{"destinations", "/destinations", http.StatusOK, "active", true},
		{"destination", "/destinations/mail", http.StatusOK, "Failed first attempts", true},
		{"question about a destination", "/destinations/mail/pause", http.StatusOK, "Pause this destination?", false},
		{"sources", "/sources", http.StatusOK, "Endpoint", false},
		{"source", "/sources/stripe", http.StatusOK, "Set up this source", false},
		{"quarantine", "/quarantine", http.StatusOK, "Verify 1 again", false},
		{"question about the quarantine", "/quarantine/verify", http.StatusOK, "Verify these deliveries again?", false},
		{"runs", "/runs", http.StatusOK, "mail again", true},
		{"run", "/runs/1", http.StatusOK, "Selected", false},
		{"preview of a run", "/runs/new?of=effects&state=attention", http.StatusOK, "What the run does", false},
		{"preview of nothing", "/runs/new?of=events&type=none", http.StatusOK, "The filter selects nothing", false},
		{"question about a run", "/runs/2/pause", http.StatusOK, "Pause run 2?", false},
		{"question about an event", "/events/stripe/evt_1001/replay", http.StatusOK, "Replay this event?", false},
		{"numbers", "/numbers", http.StatusOK, "Duration of first attempts", false},
		{"numbers of an hour", "/numbers?span=hour&destination=app", http.StatusOK, "Unfinished effects", false},
		{"find", "/find?q=receipts", http.StatusOK, "receipts", false},
		{"find a text", "/find?q=cus_42", http.StatusOK, "payload", false},
		{"live", "/live", http.StatusOK, "evt_1001", true},
		{"routes", "/routes", http.StatusOK, "Try a route", false},
		{"route", "/routes/receipts", http.StatusOK, "Settings", false},
		{"try", "/try", http.StatusOK, "Try a route", false},
		{"send", "/sources/stripe/send", http.StatusOK, "Send a test event", false},
		{"resend", "/effects/" + done + "/resend", http.StatusOK, "Resend", false},
		{"audit", "/audit", http.StatusOK, "destination.pause", false},
		{"help", "/help", http.StatusOK, "Keyboard shortcuts", false},
		{"no page", "/no/such/page", http.StatusNotFound, "Page not found", false},
	}
}

const longID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// emptyPages returns the pages for a system without data.
func emptyPages() []shownPage {
	return []shownPage{
		{"empty overview", "/", http.StatusOK, "Sources that have received nothing yet", false},
		{"empty events", "/events", http.StatusOK, "No event has been accepted yet", false},
		{"empty quarantine", "/quarantine", http.StatusOK, "No refused deliveries", false},
		{"empty audit", "/audit", http.StatusOK, "No operator action has been recorded yet", false},
		{"empty runs", "/runs", http.StatusOK, "No bulk runs yet", false},
		{"empty effects", "/effects", http.StatusOK, "No effects yet", false},
	}
}

// onEachPage runs a test for every page, each in a separate tab.
func onEachPage(t *testing.T, test func(t *testing.T, b *tab, p shownPage)) {
	t.Helper()
	run := func(t *testing.T, site string, list []shownPage) {
		t.Helper()
		for _, p := range list {
			t.Run(p.name, func(t *testing.T) {
				if !strings.Contains(p.path, "when=") { // the searches of a user wait for each other, but not for long
					t.Parallel()
				}
				test(t, openTab(t, site), p)
			})
		}
	}
	empty, used := startSystem(t), startSystem(t)
	run(t, empty.site, emptyPages())
	run(t, used.site, pages(t, used))
}

// show opens a page, and waits until the browser shows all of it. On a slow machine, a search or a
// count may first show a part of its result, and the page then requests the rest itself.
func (b *tab) show(t *testing.T, p shownPage) {
	t.Helper()
	b.open(t, p.path, p.status)
	b.has(t, p.has)
	b.until(t, `document.querySelector("#rest a[data-more], #counted a[data-onward]") === null`)
}

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	onEachPage(t, func(t *testing.T, b *tab, p shownPage) {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{wide, phone} {
				b.width(t, width)
				b.media(t, "prefers-color-scheme", scheme, "prefers-reduced-motion", "reduce")
				b.show(t, p)
				require.Equal(t, scheme == "dark", eval[bool](t, b, `getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)"`))
				axe.accepts(t, b, "html", scheme, width)
			}
		}
	})
}

// Elements that a page opens must be accessible too.
func TestWhatOpensIsAccessible(t *testing.T) {
	t.Parallel()
	axe, s := readAxe(t), startSystem(t)
	s.deliver(t, "evt_1", "charge.refunded", `{"id": "ch_1"}`)
	effect := "/effects/" + s.effect(t, "evt_1", "once", ledger.EffectParked)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{wide, phone} {
			b := openTab(t, s.site)
			b.width(t, width)
			b.media(t, "prefers-color-scheme", scheme, "prefers-reduced-motion", "reduce")
			b.open(t, effect, http.StatusOK)
			if width == phone {
				b.tabTo(t, "Menu", "")
				b.press(t, kb.Enter)
				axe.accepts(t, b, "html", scheme, width)
			}
			b.tabTo(t, "UTC", "")
			b.press(t, kb.Enter)
			b.until(t, `document.querySelector("#zone").checkVisibility()`)
			axe.accepts(t, b, ".look", scheme, width)
			b.press(t, "r")
			b.focused(t, "Go back")
			axe.accepts(t, b, "dialog", scheme, width)
		}
	}
}
