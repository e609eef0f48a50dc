package browsertest

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const dialogs = `document.querySelectorAll("dialog[open]").length`

func TestAQuestionBeginsWithWhatIsSafe(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.invoice(t, "1", "cus_1")
	key := s.effect(t, "evt_1", "mail", ledger.EffectFailed)
	b := openTab(t, s.site)
	b.open(t, "/effects/"+key, http.StatusOK)

	for _, leave := range []string{kb.Escape, kb.Enter} {
		b.tabTo(t, "Retry", "")
		b.press(t, kb.Enter)
		b.until(t, dialogs+" === 1")
		b.focused(t, "Go back")
		require.Equal(t, "/effects/"+key, b.path(t))
		// While a dialog is open, the page's shortcuts are off, and Tab stays in the dialog.
		b.press(t, "ge?")
		for range 6 {
			b.press(t, kb.Tab)
			require.True(t, eval[bool](t, b, `document.activeElement === document.body || document.activeElement.closest("dialog") !== null`))
		}
		b.tabTo(t, "Go back", "")
		b.press(t, leave)
		b.until(t, dialogs+" === 0")
		b.focused(t, "Retry")
	}
	require.Equal(t, "/effects/"+key, b.path(t))
	orders, err := s.ledger.OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Empty(t, orders)
}

// Pressing a key repeatedly opens one dialog.
func TestAQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.invoice(t, "1", "cus_1")
	b := openTab(t, s.site)
	path := "/effects/" + s.effect(t, "evt_1", "mail", ledger.EffectFailed)
	b.open(t, path, http.StatusOK)
	// The connection is slow: all key presses happen before the first dialog opens.
	call(t, b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Latency: 300, DownloadThroughput: -1, UploadThroughput: -1}},
	})
	b.press(t, "rrr")
	b.focused(t, "Go back")
	require.Equal(t, 1, b.timesAsked(path+"/retry"))
	b.press(t, kb.Escape)
	b.focused(t, "Retry")
	require.Zero(t, eval[int](t, b, dialogs))
}

// To retry an effect that may have been applied, the user must confirm that they checked the
// receiver.
func TestAnEffectInDoubtIsRetriedByWhoHasLooked(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.deliver(t, "evt_1", "charge.refunded", `{"id": "ch_1"}`)
	key := s.effect(t, "evt_1", "once", ledger.EffectParked)
	b := openTab(t, s.site)
	b.open(t, "/effects/"+key, http.StatusOK)
	b.press(t, "r")
	b.focused(t, "Go back")
	b.tabTo(t, "Retry anyway", "", chromedp.ModifierShift)
	b.press(t, kb.Enter)
	b.until(t, `document.activeElement.id === "looked" && !document.activeElement.checked`)
	require.Equal(t, "/effects/"+key, b.path(t))
	b.press(t, " ")
	b.tabTo(t, "Retry anyway", "")
	b.press(t, kb.Enter)
	b.at(t, "/effects/"+key+"?done=retry")
	orders, err := s.ledger.OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, orders, 1)
}

// An action that is no longer possible leads to an explanation page, not to a dialog.
func TestAQuestionThatCameTooLateIsAPage(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.invoice(t, "1", "cus_1")
	key := s.effect(t, "evt_1", "mail", ledger.EffectFailed)
	b := openTab(t, s.site)
	b.open(t, "/effects/"+key, http.StatusOK)
	s.mail.accepts.Store(true)
	require.NoError(t, s.ledger.Retry(t.Context(), key, ledger.Operator{Who: "bea", Via: "cli"}))
	s.effect(t, "evt_1", "mail", ledger.EffectDone)
	b.expectError("/effects/" + key + "/retry")
	b.press(t, "r")
	b.at(t, "/effects/"+key+"/retry")
	b.has(t, "This cannot be done now")
}
