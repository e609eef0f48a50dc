package browsertest

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// nameOfActive returns the name of the focused element: a field's label, an aria-label, or the text
// of a link or a button.
const nameOfActive = `(() => {
	const on = document.activeElement;
	return (on.labels?.[0]?.firstChild.textContent || on.getAttribute("aria-label") || on.innerText || "").trim();
})()`

// press presses the keys in sequence, which also types text. As with a real keyboard, a key press
// that the page prevents types nothing.
func (b *tab) press(t *testing.T, keys string, modifiers ...chromedp.Modifier) {
	t.Helper()
	b.do(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, letter := range keys {
			events := kb.Encode(letter)
			for _, event := range events {
				for _, m := range modifiers {
					event.Modifiers |= int64(m)
				}
				switch {
				case event.Type == kb.KeyChar:
					continue // the press itself types the text
				case event.Type == kb.KeyDown && event.Modifiers&^int64(chromedp.ModifierShift) == 0 && len(events) == 3:
					event.Text, event.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
				}
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *event); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// tabTo presses Tab until an element with this name has the focus. If row is not empty, the element
// must be in a row that begins with this text.
func (b *tab) tabTo(t *testing.T, name, row string, modifiers ...chromedp.Modifier) {
	t.Helper()
	const most = 300
	var seen []string
	for range most {
		b.press(t, kb.Tab, modifiers...)
		at := eval[[2]string](t, b, "["+nameOfActive+`, document.activeElement.closest("tr")?.innerText ?? ""]`)
		if at[0] == name && (row == "" || len(at[1]) >= len(row) && at[1][:len(row)] == row) {
			return
		}
		seen = append(seen, at[0])
	}
	require.Fail(t, "Tab does not lead to "+name, "in the row %q; it leads to %q", row, seen)
}

// focused waits until an element with this name has the focus.
func (b *tab) focused(t *testing.T, name string) {
	t.Helper()
	b.until(t, nameOfActive+fmt.Sprintf(" === %q", name))
}

func (b *tab) reload(t *testing.T) {
	t.Helper()
	b.do(t, chromedp.Reload())
}
