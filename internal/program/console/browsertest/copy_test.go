package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// permit grants the named permissions to a tab's pages.
func (b *tab) permit(t *testing.T, permissions ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for _, name := range permissions {
		_, err := chromedp.CallBrowser(ctx, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: name}, Setting: cdpbrowser.PermissionSettingGranted,
			BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		require.NoError(t, err)
	}
}

// All tabs share one clipboard, so no other test copies.
func TestCommandsAreCopiedAsTheyAreShown(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	s.invoice(t, "it's 1", "cus_1")
	key := s.effect(t, "evt_it's 1", "app", ledger.EffectDone)
	b := openTab(t, s.site)
	b.permit(t, "clipboard-read", "clipboard-write")
	for path, commands := range map[string]int{"/events/stripe/evt_it's%201": 3, "/effects/" + key: 3, "/events?type=a+b": 1} {
		b.open(t, path, http.StatusOK)
		require.Equal(t, commands, eval[int](t, b, `document.querySelectorAll("[data-copy]").length`), path)
		for i := range commands {
			button := fmt.Sprintf(`document.querySelectorAll("[data-copy]")[%d]`, i)
			eval[struct{}](t, b, button+".focus()")
			b.press(t, kb.Enter)
			b.until(t, button+`.innerText === "Copied"`)
			shown := eval[string](t, b, `document.querySelector(`+button+`.dataset.copy).innerText`)
			require.NotEmpty(t, shown)
			require.Equal(t, shown, eval[string](t, b, "navigator.clipboard.readText()"))
		}
	}
}

// Without scripts, the buttons that need scripts are hidden.
func TestButtonsOfScriptsAreHiddenWithoutThem(t *testing.T) {
	t.Parallel()
	s := startSystem(t)
	for _, scripts := range []bool{true, false} {
		b := openTab(t, s.site)
		if !scripts {
			b.withoutScripts(t)
		}
		b.open(t, "/events", http.StatusOK)
		b.tabTo(t, "UTC", "")
		b.press(t, kb.Enter)
		b.until(t, `document.querySelector("#zone").checkVisibility()`)
		shown := eval[[]bool](t, b, `[...document.querySelectorAll("[data-copy], [data-zone]")].map((e) => e.checkVisibility())`)
		require.Len(t, shown, 3)
		require.NotContains(t, shown, !scripts)
	}
}
