package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// screenshotsEnv names a directory that gets a picture of each page.
const screenshotsEnv = "HOOKLATCH_SCREENSHOTS"

func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(screenshotsEnv)
	if dir == "" {
		t.Skipf("pictures are for people: set %s to a directory for them", screenshotsEnv)
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	onEachPage(t, func(t *testing.T, b *tab, p shownPage) {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{wide, phone} {
				b.width(t, width)
				b.media(t, "prefers-color-scheme", scheme, "prefers-reduced-motion", "reduce")
				b.show(t, p)
				eval[bool](t, b, "document.fonts.ready.then(() => true)")
				picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				require.NoError(t, err)
				name := fmt.Sprintf("%s.%s.%d.png", strings.NewReplacer(" ", "-", ",", "").Replace(p.name), scheme, width)
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), picture, 0o600))
			}
		}
	})
}
