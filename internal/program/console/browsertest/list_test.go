package browsertest

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// firstScreen is the height of a phone's screen, in pixels.
const firstScreen = 667

// eachWithAndWithoutScripts runs a test in a tab with scripts, and in a tab without scripts.
func eachWithAndWithoutScripts(t *testing.T, site string, test func(t *testing.T, b *tab, scripts bool)) {
	t.Helper()
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, site)
			if !scripts {
				b.withoutScripts(t)
			}
			test(t, b, scripts)
		})
	}
}

// On a phone, the first row of a list is on the first screen, as a card that begins with its link,
// its state and its time. Navigation and filter are folded until they are opened.
func TestTheFirstRowIsOnTheFirstScreenOfAPhone(t *testing.T) {
	t.Parallel()
	axe, s := readAxe(t), startSystem(t)
	for i := range 3 {
		s.invoice(t, strconv.Itoa(i+1), "cus_1")
	}
	s.effect(t, "evt_1", "mail", ledger.EffectFailed)
	s.settled(t, 3)
	eachWithAndWithoutScripts(t, s.site, func(t *testing.T, b *tab, scripts bool) {
		b.do(t, chromedp.EmulateViewport(phone, firstScreen))
		for _, path := range []string{"/events", "/effects", "/events?effects=failed&type=invoice.*", "/effects?state=attention"} {
			b.open(t, path, http.StatusOK)
			visible := func(selector string) bool {
				return eval[bool](t, b, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, selector))
			}
			bottom := func(selector string) float64 {
				return eval[float64](t, b, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom`, selector))
			}
			left := eval[float64](t, b, `document.querySelector("#list tbody .what").getBoundingClientRect().left`)
			require.Less(t, bottom("#list tbody tr"), float64(firstScreen), path)
			require.Less(t, left, float64(phone)/2, path)
			// Link, state and time come first, in a column.
			link, state, when := bottom("#list tbody .what"), bottom("#list tbody .is"), bottom("#list tbody .when")
			rest := eval[float64](t, b, `Math.min(...[...document.querySelector("#list tbody tr").children].filter((e) => !e.matches(".tick, .what, .is, .when") && e.checkVisibility()).map((e) => e.getBoundingClientRect().bottom))`)
			require.Less(t, link, state+1, path)
			require.LessOrEqual(t, state, when+1, path)
			require.LessOrEqual(t, when, rest+1, path)
			require.LessOrEqual(t, eval[int](t, b, "document.documentElement.scrollWidth"), phone, path)

			require.False(t, visible(".rail"), path)
			require.False(t, visible("form.filter"), path)
			b.tabTo(t, "Menu", "")
			b.press(t, kb.Enter)
			b.until(t, `document.querySelector(".rail").checkVisibility()`)
			b.open(t, path, http.StatusOK)
			b.until(t, `document.querySelector("details.fold summary") !== null`)
			eval[struct{}](t, b, `void document.querySelector("details.fold summary").focus()`)
			b.press(t, kb.Enter)
			b.until(t, `document.querySelector("form.filter").checkVisibility()`)
			if scripts { // axe itself is a script
				axe.accepts(t, b, "html", "light", phone)
			}
			require.LessOrEqual(t, eval[int](t, b, "document.documentElement.scrollWidth"), phone, path)
		}
	})
}

// Rows are selected by keyboard, and the action is applied to them after a confirmation.
func TestRowsAreSelectedByKeyboard(t *testing.T) {
	t.Parallel()
	axe, s := readAxe(t), startSystem(t)
	for _, id := range []string{"1", "2", "3", "4"} {
		s.invoice(t, id, "cus_1")
		s.effect(t, "evt_"+id, "mail", ledger.EffectFailed)
	}
	s.settled(t, 4)
	for width, rows := range map[int64][2]string{wide: {"evt_1", "evt_2"}, phone: {"evt_3", "evt_4"}} {
		for scripts, id := range map[bool]string{true: rows[0], false: rows[1]} {
			t.Run(fmt.Sprintf("%d pixels, scripts %t", width, scripts), func(t *testing.T) {
				t.Parallel()
				b := openTab(t, s.site)
				b.width(t, width)
				if !scripts {
					b.withoutScripts(t)
				}
				key := s.effect(t, id, "mail", ledger.EffectFailed)
				b.open(t, "/effects?destination=mail&state=failed&event=stripe/"+id, http.StatusOK)
				const bar = `document.querySelector(".selected").checkVisibility()`
				require.False(t, eval[bool](t, b, bar))
				if scripts {
					b.press(t, "jx")
				} else {
					b.tabTo(t, "Select "+key[:11]+"…"+key[len(key)-11:], "")
					b.press(t, " ")
				}
				b.until(t, bar)
				b.tabTo(t, "Retry…", "")
				b.press(t, kb.Enter)
				b.has(t, "Retry 1 effect?")
				if scripts {
					axe.accepts(t, b, "html", "light", width)
				}
				b.tabTo(t, "Reason (stored in the operator log)", "")
				b.press(t, "it was the mail server")
				b.tabTo(t, "Retry 1", "")
				b.press(t, kb.Enter)
				b.has(t, "1 effect tried again and recorded.")
				var who string
				require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT reason FROM hooklatch.operator_log WHERE target = $1`, key).Scan(&who))
				require.Equal(t, "it was the mail server", who)
			})
		}
	}
}
