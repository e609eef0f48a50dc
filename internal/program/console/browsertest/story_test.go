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

// story creates 61 invoices, one of them for the customer cus_42. The mail server refused the email
// about each invoice, but accepts emails now. key is the key of the effect that sends this
// customer's email.
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

// openRefused opens, from the customer's event, the effect whose email was refused.
func openRefused(t *testing.T, b *tab, key string) {
	t.Helper()
	b.at(t, "/events/stripe/evt_theirs")
	b.tabTo(t, eval[string](t, b, `[...document.querySelectorAll("tr")].find((row) => row.innerText.startsWith("mail")).querySelector("a").innerText`), "mail")
	b.press(t, kb.Enter)
	refused(t, b, key)
}

// retryByForm retries the effect on the page that asks for the confirmation.
func retryByForm(t *testing.T, b *tab, key string) {
	t.Helper()
	b.tabTo(t, "Retry", "")
	b.press(t, kb.Enter)
	b.at(t, "/effects/"+key+"/retry")
	b.has(t, "Retry this effect?")
	b.tabTo(t, "Reason (stored in the operator log)", "")
	b.press(t, reason)
	b.tabTo(t, "Retry", "")
	b.press(t, kb.Enter)
}

// retryInDialog retries the effect in the dialog that scripts open.
func retryInDialog(t *testing.T, b *tab) {
	t.Helper()
	b.press(t, "r")
	b.until(t, `document.querySelector("dialog[open] h1")?.innerText === "Retry this effect?"`)
	b.focused(t, "Go back")
	b.tabTo(t, "Reason (stored in the operator log)", "", chromedp.ModifierShift)
	b.press(t, reason+kb.Enter)
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
	openRefused(t, b, key)

	retryInDialog(t, b)
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
	b.until(t, `location.search.includes("when=")`)
	for !eval[bool](t, b, `document.querySelectorAll("#list tbody tr").length === 1`) { // the console searches for a limited time per request
		b.tabTo(t, "Search older", "")
		before := eval[string](t, b, "location.search")
		b.press(t, kb.Enter)
		b.until(t, fmt.Sprintf("location.search !== %q", before))
	}
	b.tabTo(t, "evt_theirs", "")
	b.press(t, kb.Enter)
	openRefused(t, b, key)

	retryByForm(t, b, key)
	sent(t, s, b, key)
}

// eachWindow runs a test in a wide and in a narrow window, with and without scripts.
func eachWindow(t *testing.T, test func(t *testing.T, width int64, scripts bool)) {
	t.Helper()
	for _, width := range []int64{wide, phone} {
		for _, scripts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d pixels, scripts %t", width, scripts), func(t *testing.T) {
				t.Parallel()
				test(t, width, scripts)
			})
		}
	}
}

// The customer's mail address, which is only in the payload, leads to the event.
func TestAMailAddressLeadsToTheMailThatWasRefused(t *testing.T) {
	t.Parallel()
	eachWindow(t, func(t *testing.T, width int64, scripts bool) {
		s, b, key := story(t)
		b.width(t, width)
		if !scripts {
			b.withoutScripts(t)
		}
		b.reload(t)
		b.tabTo(t, "ID, key, name, URL or any text", "")
		b.press(t, "cus_42@example.com"+kb.Enter)
		b.until(t, `location.pathname === "/find" && document.body.innerText.includes("End of the list.")`) // the search continues automatically
		b.tabTo(t, "evt_theirs", "")
		b.press(t, kb.Enter)
		openRefused(t, b, key)
		if scripts {
			retryInDialog(t, b)
		} else {
			retryByForm(t, b, key)
		}
		sent(t, s, b, key)
	})
}

// The page for trying a route shows a typo before an operator adds the route to the configuration.
func TestATypoInARouteIsSeenBeforeItIsLive(t *testing.T) {
	t.Parallel()
	eachWindow(t, func(t *testing.T, width int64, scripts bool) {
		s := startSystem(t)
		for _, id := range []string{"1", "2", "3"} {
			s.invoice(t, id, "cus_"+id)
		}
		s.settled(t, 3)
		b := openTab(t, s.site)
		b.width(t, width)
		if !scripts {
			b.withoutScripts(t)
		}
		b.open(t, "/routes", http.StatusOK)
		b.tabTo(t, "Try a route", "")
		b.press(t, kb.Enter)
		b.at(t, "/try")
		try := func(types string) {
			b.tabTo(t, "Route (YAML)", "")
			b.press(t, "a", chromedp.ModifierCtrl)
			b.press(t, "name: receipts\rfrom: stripe\rtypes: ["+types+"]\rto: mail\rkey: body.data.object.id\r"+
				`email: {recipient: body.data.object.email, subject: "Receipt {{ .body.data.object.id }}", text: "Thank you."}`)
			b.tabTo(t, "Or on the last 1000 events of a source", "")
			b.press(t, "s")
			b.tabTo(t, "Try the route", "")
			b.press(t, kb.Enter)
		}
		try("invoice.payed")
		b.has(t, "routed differently: 3")
		require.Equal(t, []string{"gone", "3", "invoice.paid"}, eval[[]string](t, b, `[...document.querySelectorAll("main tbody tr:first-child td")].slice(0, 3).map((e) => e.innerText.trim())`))
		try("invoice.paid")
		b.has(t, "The effects are the same.")
	})
}
