package browsertest

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// Tab reaches every element that a mouse reaches.
func TestTabReachesAllThatCanBeUsed(t *testing.T) {
	t.Parallel()
	onEachPage(t, func(t *testing.T, b *tab, p shownPage) {
		b.show(t, p)
		b.press(t, kb.Tab)
		b.focused(t, "Skip to content")
		missed := eval[int](t, b, `(() => {
			window.missed = new Set([...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter((e) => e.checkVisibility({ contentVisibilityAuto: true })));
			return window.missed.size;
		})()`)
		require.Greater(t, missed, 8)
		for range 3 * missed {
			if eval[int](t, b, "(window.missed.delete(document.activeElement), window.missed.size)") == 0 {
				break
			}
			// The focus is visible.
			require.NotEmpty(t, eval[string](t, b, `(() => {
				const style = getComputedStyle(document.activeElement);
				return document.activeElement === document.body || style.outlineStyle !== "none" ? "seen" : "";
			})()`), eval[string](t, b, "document.activeElement.outerHTML"))
			b.press(t, kb.Tab)
		}
		require.Empty(t, eval[[]string](t, b, "[...window.missed].map((e) => e.outerHTML)"))
	})
}

// The shortcuts on the help page work.
func TestKeysDoWhatTheHelpSays(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	const more = 4 // number of events beyond a full page
	for i := range 50 + more {
		s.invoice(t, strconv.Itoa(i+1), "cus_1")
	}
	key := s.effect(t, "evt_1", "mail", ledger.EffectFailed)
	b := openTab(t, s.site)
	b.open(t, "/", http.StatusOK)
	for _, to := range []struct{ keys, path string }{{"ge", "/events"}, {"gf", "/effects"}, {"go", "/"}, {"ga", "/audit"}, {"?", "/help"}, {"ge", "/events"}} {
		b.press(t, to.keys)
		b.at(t, to.path)
	}
	b.press(t, "]")
	b.until(t, `location.search.startsWith("?before=") && document.querySelectorAll("#list tbody tr").length === `+strconv.Itoa(more))
	b.press(t, "[")
	b.at(t, "/events")
	b.do(t, chromedp.NavigateBack())
	b.until(t, `location.search.startsWith("?before=")`)
	for _, row := range []struct{ key, id string }{{"j", "evt_4"}, {"j", "evt_3"}, {"j", "evt_2"}, {"j", "evt_1"}, {"j", "evt_1"}, {"k", "evt_2"}} {
		b.press(t, row.key)
		b.focused(t, row.id)
	}
	b.press(t, kb.Enter)
	b.at(t, "/events/stripe/evt_2")

	// In a field, keys type letters until the field loses the focus.
	b.press(t, "/")
	b.focused(t, "ID, key, name, URL or any text")
	b.press(t, "ge/?")
	require.Equal(t, "ge/?", eval[string](t, b, "document.activeElement.value"))
	b.press(t, kb.Escape)
	b.until(t, "document.activeElement === document.body")
	b.press(t, "/")
	b.press(t, "a", chromedp.ModifierCtrl)
	b.press(t, key+kb.Enter)
	b.at(t, "/effects/"+key)

	b.press(t, "r")
	b.until(t, `document.querySelector("dialog[open]") !== null`)
	b.press(t, kb.Escape)
	b.until(t, `document.querySelector("dialog") === null`)
	b.focused(t, "Retry")
	require.Equal(t, "/effects/"+key, b.path(t))
}
