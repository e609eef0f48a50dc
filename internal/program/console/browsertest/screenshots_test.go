package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// screenshotsEnv names the directory for the screenshots in docs/console.md.
const screenshotsEnv = "HOOKLATCH_SCREENSHOTS"

const shopEvent = "evt_1Q8pZcLkdIwHu7ix0Rb407f"

// The test creates the documentation's screenshots, which are the same on every machine.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(screenshotsEnv)
	if dir == "" {
		t.Skipf("to make the pictures, set %s to a directory for them", screenshotsEnv)
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	site, pool := shop(t)
	for _, p := range shopPages(t, pool) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, site)
			for _, scheme := range []string{"light", "dark"} {
				b.width(t, wide)
				b.media(t, "prefers-color-scheme", scheme, "prefers-reduced-motion", "reduce")
				b.open(t, p.path, http.StatusOK)
				picture(t, b, filepath.Join(dir, fmt.Sprintf("%s-%s.png", p.name, scheme)), 1100)
			}
			if !p.phone {
				return
			}
			b.width(t, phone)
			b.media(t, "prefers-color-scheme", "light", "prefers-reduced-motion", "reduce")
			b.open(t, p.path, http.StatusOK)
			picture(t, b, filepath.Join(dir, p.name+"-phone.png"), 812)
		})
	}
}

// shopPage is a page for a screenshot.
type shopPage struct {
	name, path string
	phone      bool
}

func shopPages(t *testing.T, pool *pgxpool.Pool) []shopPage {
	t.Helper()
	var parked, refused string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT
		(SELECT idempotency_key FROM hooklatch.effects WHERE event_id = $1 AND destination = 'mail'),
		(SELECT rejection_id::text FROM hooklatch.rejected_deliveries WHERE source = 'shopify' ORDER BY rejected_at DESC LIMIT 1)`, shopEvent).Scan(&parked, &refused))
	return []shopPage{
		{"overview", "/", true}, {"events", "/events", true}, {"event", "/events/stripe/" + shopEvent, true},
		{"effects", "/effects?destination=crm", true}, {"effect", "/effects/" + parked, true}, {"destination", "/destinations/crm", false},
		{"source", "/sources/stripe", false}, {"refused", "/quarantine/" + refused, false}, {"run", "/runs/12", false}, {"audit", "/audit", false},
	}
}

// picture writes a screenshot of a page, reduced to 256 colours. The height of the picture is at
// most `most` pixels.
func picture(t *testing.T, b *tab, path string, most float64) {
	t.Helper()
	eval[bool](t, b, "document.fonts.ready.then(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(() => shown(true)))))")
	size := eval[[]float64](t, b, "[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
	taken := call(t, b, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true),
		Clip: &page.Viewport{Width: size[0], Height: min(size[1], most), Scale: 1},
	})
	small, err := fewColours(taken.Data)
	require.NoError(t, err)
	require.Less(t, len(small), len(taken.Data)+1)
	require.NoError(t, os.WriteFile(path, small, 0o600))
}
