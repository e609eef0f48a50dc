package browsertest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// refusedMails opens the list of n emails that the mail server refused. The server accepts all
// later attempts.
func refusedMails(t *testing.T, n int) (*system, *tab) {
	t.Helper()
	s := startSystem(t)
	for i := range n {
		s.invoice(t, fmt.Sprintf("in_%d", i), "cus_1")
	}
	s.settled(t, n)
	for i := range n {
		s.effect(t, fmt.Sprintf("evt_in_%d", i), "mail", ledger.EffectFailed)
	}
	s.mail.accepts.Store(true)
	b := openTab(t, s.site)
	b.open(t, "/effects?state=failed&destination=mail", http.StatusOK)
	return s, b
}

const runState = `document.querySelector(".facts .state")?.innerText`

// Many effects are retried with the keyboard alone. The run is started after a preview, watched
// without a reload, paused in a dialog, resumed, and shown as done.
func TestManyAreRetriedAndWatched(t *testing.T) {
	t.Parallel()
	s, b := refusedMails(t, 6)
	b.tabTo(t, "Retry these…", "")
	b.press(t, kb.Enter)
	b.at(t, "/runs/new?action=retry&destination=mail&of=effects&state=failed")
	b.has(t, "6 effects")
	b.tabTo(t, "Name, to find the run again", "")
	b.press(t, "after the fix")
	b.press(t, kb.Tab)
	b.press(t, "0.01") // the run must not end before it is paused
	b.tabTo(t, "Reason (stored in the operator log)", "")
	b.press(t, reason+kb.Enter)
	b.at(t, "/runs/1?done=begun")
	b.until(t, `document.querySelector("#live").innerText.includes("at most 0.01 changes")`)
	b.until(t, `document.querySelector("progress") === null || document.querySelector("#live").innerText.includes("so far")`)
	b.tabTo(t, "Pause", "")
	b.press(t, kb.Enter)
	b.until(t, dialogs+" === 1")
	b.tabTo(t, "Pause", "")
	b.press(t, kb.Enter)
	b.at(t, "/runs/1?done=pause")
	b.has(t, "Paused and recorded.")
	require.Equal(t, "paused", eval[string](t, b, runState))
	s.orderWith(t, "/runs/1/pace", `{"pace": 1}`)

	b.tabTo(t, "Resume", "")
	b.press(t, kb.Enter)
	b.until(t, dialogs+" === 1")
	b.tabTo(t, "Resume", "")
	b.press(t, kb.Enter)
	b.at(t, "/runs/1?done=resume")
	b.tabTo(t, "Overview", "") // updates do not change the focused element
	b.until(t, runState+` === "done"`)
	b.has(t, "6 of 6")
	require.Eventually(t, func() bool { return s.mail.taken.Load() == 6 }, patience, tick)
	orders, err := s.ledger.OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, reason, orders[len(orders)-1].Reason)
	require.Equal(t, int64(1), orders[0].Run)
}

func TestManyAreRetriedWithoutScripts(t *testing.T) {
	t.Parallel()
	s, b := refusedMails(t, 2)
	b.withoutScripts(t)
	b.reload(t)
	b.tabTo(t, "Retry these…", "")
	b.press(t, kb.Enter)
	b.has(t, "2 effects")
	b.tabTo(t, "Retry them", "")
	b.press(t, kb.Enter)
	b.at(t, "/runs/1?done=begun")
	require.Eventually(t, func() bool { return s.mail.taken.Load() == 2 }, patience, tick)
	require.Eventually(t, func() bool {
		b.reload(t)
		return eval[string](t, b, runState) == "done"
	}, patience, tick)
}
