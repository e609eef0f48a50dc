package browsertest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Wide elements scroll separately. The whole page never scrolls sideways.
func TestNoPageScrollsSideways(t *testing.T) {
	t.Parallel()
	onEachPage(t, func(t *testing.T, b *tab, p shownPage) {
		for _, width := range []int64{narrow, phone, 768, wide} {
			b.width(t, width)
			b.show(t, p)
			require.Empty(t, eval[[]string](t, b, `(() => {
				const width = document.documentElement.clientWidth;
				if (document.documentElement.scrollWidth <= width) return [];
				const over = [...document.querySelectorAll("body *")].filter((e) =>
					(e.getBoundingClientRect().right > width || e.scrollWidth > width) && !e.closest(".scroll, pre, .rail"));
				return [`+"`${document.documentElement.scrollWidth} of ${width}`"+`, ...over.map((e) => e.outerHTML.slice(0, 200))];
			})()`), "at %d pixels", width)
		}
	})
}

// On a wide screen, a list shows all of its columns: none is cut at the edge.
func TestNoListIsCut(t *testing.T) {
	t.Parallel()
	onEachPage(t, func(t *testing.T, b *tab, p shownPage) {
		b.width(t, wide)
		b.show(t, p)
		require.Empty(t, eval[[]string](t, b, `[...document.querySelectorAll("main .scroll:has(> table.cards)")].filter((e) => e.scrollWidth > e.clientWidth)
			.map((e) => [e.clientWidth + " of " + e.scrollWidth, ...[...e.querySelectorAll("thead th")].map((h) => h.innerText + " " + h.offsetWidth)].join(", "))`))
	})
}

// With forced colours, states are still distinguishable: each has an icon and a word, in a colour
// that differs from the background.
func TestStatesAreSeenInForcedColours(t *testing.T) {
	t.Parallel()
	onEachPage(t, func(t *testing.T, b *tab, p shownPage) {
		for _, scheme := range []string{"light", "dark"} {
			b.media(t, "forced-colors", "active", "prefers-color-scheme", scheme)
			b.show(t, p)
			require.True(t, eval[bool](t, b, `matchMedia("(forced-colors: active)").matches`))
			states := eval[[]struct{ Word, Icon, Stroke, Colour, Below string }](t, b, `[...document.querySelectorAll("main .state")].filter((e) => e.checkVisibility()).map((e) => {
				const icon = e.querySelector("svg");
				let below = e;
				while (below && getComputedStyle(below).backgroundColor === "rgba(0, 0, 0, 0)") below = below.parentElement;
				return {
					Word: e.innerText.trim(),
					Icon: icon && icon.checkVisibility() && icon.getBoundingClientRect().width >= 12 ? icon.innerHTML.trim() : "",
					Stroke: icon ? getComputedStyle(icon).stroke : "", Colour: getComputedStyle(e).color,
					Below: getComputedStyle(below ?? document.documentElement).backgroundColor,
				};
			})`)
			if p.states {
				require.NotEmpty(t, states)
			}
			for _, s := range states {
				require.NotEmpty(t, s.Word)
				require.NotEmpty(t, s.Icon, s.Word)
				require.NotEqual(t, s.Below, s.Stroke, s.Word)
				require.NotEqual(t, s.Below, s.Colour, s.Word)
			}
		}
	})
}
