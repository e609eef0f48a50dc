package browsertest

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const berlin = "Europe/Berlin"

// shownTime returns the first time in the event list, as the beginning of its tooltip and as a
// value.
func shownTime(t *testing.T, b *tab) (shown string, meant time.Time) {
	t.Helper()
	both := eval[[2]string](t, b, `((e) => [e.title.slice(0, 19), e.dateTime])(document.querySelector("#list tbody time"))`)
	meant, err := time.Parse(time.RFC3339Nano, both[1])
	require.NoError(t, err)
	return both[0], meant
}

func TestTimeZoneAndColoursAreChosen(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.invoice(t, "1", "cus_1")
	s.effect(t, "evt_1", "mail", ledger.EffectFailed)
	there, err := time.LoadLocation(berlin)
	require.NoError(t, err)
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, s.site)
			if !scripts {
				b.withoutScripts(t)
			}
			call(t, b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: berlin})
			const list = "/events?type=invoice.paid"
			b.open(t, list, http.StatusOK)
			shown, meant := shownTime(t, b)
			require.Equal(t, meant.UTC().Format(time.DateTime), shown)
			require.False(t, eval[bool](t, b, `document.documentElement.hasAttribute("data-theme")`))

			b.tabTo(t, "UTC", "")
			b.press(t, kb.Enter)
			b.tabTo(t, "Time zone", "")
			if scripts {
				b.tabTo(t, "Use browser time zone", "")
				b.press(t, kb.Enter)
				b.until(t, `document.querySelector("#zone").value === "`+berlin+`"`)
			} else {
				b.press(t, berlin)
			}
			b.tabTo(t, "Colours", "")
			b.press(t, "dark")
			b.tabTo(t, "Apply", "")
			b.press(t, kb.Enter)
			b.until(t, `document.documentElement.dataset.theme === "dark"`)
			b.at(t, list)
			shown, meant = shownTime(t, b)
			require.Equal(t, meant.In(there).Format(time.DateTime), shown)
			require.NotEqual(t, "rgb(255, 255, 255)", eval[string](t, b, "getComputedStyle(document.body).backgroundColor"))

			// The choice also applies to other pages, and a theme overrides the system's
			// preference.
			b.media(t, "prefers-color-scheme", "light")
			b.open(t, "/help", http.StatusOK)
			b.has(t, berlin)
			require.NotEqual(t, "rgb(255, 255, 255)", eval[string](t, b, "getComputedStyle(document.body).backgroundColor"))
		})
	}
}

func TestBackAndForwardKeepTheFilter(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.invoice(t, "1", "cus_1")
	s.deliver(t, "evt_2", "customer.updated", `{"id": "cus_2"}`)
	s.settled(t, 2)
	b := openTab(t, s.site)
	const field = `document.querySelector("#field-type").value`
	const rows = `document.querySelectorAll("#list tbody tr").length`
	b.open(t, "/events", http.StatusOK)
	b.tabTo(t, "Type", "")
	b.press(t, "invoice.paid"+kb.Enter)
	b.until(t, rows+" === 1 && "+field+` === "invoice.paid"`)
	filtered := b.path(t)
	require.Contains(t, filtered, "type=invoice.paid")
	b.tabTo(t, "evt_1", "")
	b.press(t, kb.Enter)
	b.at(t, "/events/stripe/evt_1")

	b.do(t, chromedp.NavigateBack())
	b.at(t, filtered)
	b.until(t, rows+" === 1 && "+field+` === "invoice.paid"`)
	b.do(t, chromedp.NavigateBack())
	b.at(t, "/events")
	b.until(t, rows+" === 2 && "+field+` === ""`)
	b.do(t, chromedp.NavigateForward())
	b.at(t, filtered)
	b.until(t, rows+" === 1 && "+field+` === "invoice.paid"`)
}
