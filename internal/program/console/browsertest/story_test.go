package browsertest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	question = `body.data.object.customer == "cus_42"`
	reason   = "they corrected the address"
)

// story is about a customer who did not get an email. Among other events there is this customer's
// invoice, whose email was refused.
func story(t *testing.T) (s *system, b *tab, key string) {
	t.Helper()
	s = startSystem(t)
	for i := range 60 {
		if i == 30 {
			s.invoice(t, "theirs", "cus_42")
		}
		s.invoice(t, fmt.Sprintf("other_%d", i), fmt.Sprintf("cus_4%02d", i))
	}
	s.settled(t, 61)
	key = s.effect(t, "evt_theirs", "mail", ledger.EffectFailed)
	s.mail.accepts.Store(true) // the mail server was repaired
	b = openTab(t, s.site)
	call(t, b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("anna:-"))},
	})
	b.open(t, "/", http.StatusOK)
	return s, b, key
}

// sent requires that the email was sent once, that the page says so, and that the operator log
// contains the operator and the reason.
func sent(t *testing.T, s *system, b *tab, key string) {
	t.Helper()
	b.at(t, "/effects/"+key+"?done=retry")
	b.has(t, "Retry requested and recorded.")
	require.Equal(t, key, s.effect(t, "evt_theirs", "mail", ledger.EffectDone))
	b.reload(t)
	b.until(t, `document.querySelector(".facts .state").innerText === "done"`)
	require.EqualValues(t, 1, s.mail.taken.Load())

	orders, err := s.ledger.OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.Equal(t, ledger.ActionRetryEffect, orders[0].Action)
	require.Equal(t, key, orders[0].Target)
	require.Equal(t, "anna", orders[0].Who)
	require.Equal(t, "console", orders[0].Via)
	require.Equal(t, reason, orders[0].Reason)
}

// refused waits until the page shows why the email was not sent.
func refused(t *testing.T, b *tab, key string) {
	t.Helper()
	b.at(t, "/effects/"+key)
	for fact, is := range map[string]string{"State": "failed", "Last status": "550", "Last response": refusal} {
		b.until(t, fmt.Sprintf(`[...document.querySelectorAll(".facts dt")].find((e) => e.innerText === %q)?.nextElementSibling.innerText.includes(%q)`, fact, is))
	}
}

func TestAMailThatWasRefusedIsFoundAndSentWithKeysAlone(t *testing.T) {
	t.Parallel()
	s, b, key := story(t)
	b.press(t, "ge")
	b.at(t, "/events")
	b.press(t, "f")
	b.focused(t, "Source")
	b.tabTo(t, "Condition on the payload", "")
	b.press(t, question+kb.Enter)
	b.until(t, `location.search.includes("when=") && document.querySelectorAll("#list tbody tr").length === 1`)
	b.press(t, "j")
	b.focused(t, "evt_theirs")
	b.press(t, kb.Enter)
	b.at(t, "/events/stripe/evt_theirs")
	b.tabTo(t, eval[string](t, b, `[...document.querySelectorAll("tr")].find((row) => row.innerText.startsWith("mail")).querySelector("a").innerText`), "mail")
	b.press(t, kb.Enter)
	refused(t, b, key)

	b.press(t, "r")
	b.until(t, `document.querySelector("dialog[open] h1")?.innerText === "Retry this effect?"`)
	b.focused(t, "Go back")
	b.tabTo(t, "Reason (stored in the operator log)", "", chromedp.ModifierShift)
	b.press(t, reason+kb.Enter)
	sent(t, s, b, key)
}

func TestAMailThatWasRefusedIsFoundAndSentWithoutScripts(t *testing.T) {
	t.Parallel()
	s, b, key := story(t)
	b.withoutScripts(t)
	b.reload(t)
	b.tabTo(t, "Events", "")
	b.press(t, kb.Enter)
	b.at(t, "/events")
	b.tabTo(t, "Condition on the payload", "")
	b.press(t, question+kb.Enter)
	b.until(t, `location.search.includes("when=") && document.querySelectorAll("#list tbody tr").length === 1`)
	b.tabTo(t, "evt_theirs", "")
	b.press(t, kb.Enter)
	b.at(t, "/events/stripe/evt_theirs")
	b.tabTo(t, eval[string](t, b, `[...document.querySelectorAll("tr")].find((row) => row.innerText.startsWith("mail")).querySelector("a").innerText`), "mail")
	b.press(t, kb.Enter)
	refused(t, b, key)

	b.tabTo(t, "Retry", "")
	b.press(t, kb.Enter)
	b.at(t, "/effects/"+key+"/retry")
	b.has(t, "Retry this effect?")
	b.tabTo(t, "Reason (stored in the operator log)", "")
	b.press(t, reason)
	b.tabTo(t, "Retry", "")
	b.press(t, kb.Enter)
	sent(t, s, b, key)
}
