package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

const (
	// patience is the maximum time that a test waits for a page or the program, even on a busy
	// machine.
	patience = 60 * time.Second
	tick     = 20 * time.Millisecond
)

// browser is shared by all tests. Each test has separate tabs.
var browser context.Context //nolint:containedctx // chromedp keeps a browser in a context

func TestMain(m *testing.M) { os.Exit(withBrowser(m)) }

func withBrowser(m *testing.M) int {
	path, err := findChromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The pages are trusted, and containers often do not allow a sandbox.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	started, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(started); err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", path, err)
		return 1
	}
	browser = started //nolint:fatcontext // created once

	return pgtest.Main(m, goleak.IgnoreCurrent()) // the browser's goroutines run until all tests have ended
}

// findChromium returns the path of the first Chromium that it finds.
func findChromium() (string, error) {
	for _, name := range []string{
		"chromium-headless-shell", "headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the tests of the console need a browser, and PATH has none: install Debian's package chromium-headless-shell (or chromium)")
}
