package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const (
	wide   = 1280
	phone  = 375
	narrow = 320
	tall   = 900
)

// tooLate matches the browser's messages about a view transition that began too late or took too
// long. This happens on a busy machine or with scripts off. A message arrives as the rejection of a
// promise.
var tooLate = regexp.MustCompile("InvalidStateError: Transition was aborted because of invalid state|" +
	"TimeoutError: Transition was aborted because of timeout|AbortError: Transition was skipped")

// tab is a browser tab with separate cookies and permissions. At the end of the test, the tab's log
// must be empty, and its pages must not have violated their content security policy or requested
// another host.
type tab struct {
	ctx  context.Context //nolint:containedctx // chromedp keeps a tab in a context
	site string          // URL of the console, without a trailing slash
	also string          // another site that the test uses; empty if there is none

	mu      sync.Mutex // guards the fields below
	wrong   []string
	refused map[string]bool // URLs whose responses are expected to be errors
	asked   map[string]int  // number of requests, by URL
}

// openTab opens a tab on the console of a system.
func openTab(t *testing.T, site string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b := &tab{ctx: ctx, site: site, refused: map[string]bool{}, asked: map[string]int{}}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the tab has ended
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.wrong, "the page reported an error, or requested another host")
	})
	require.NoError(t, chromedp.Listen(ctx, b.note))
	call(t, b, audits.Enable, cdp.Empty{})
	// Tests share the browser, so each tab emulates focus.
	call(t, b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.width(t, wide)
	return b
}

// isAlso reports whether a URL belongs to the other site that the test uses.
func (b *tab) isAlso(url string) bool { return b.also != "" && strings.HasPrefix(url, b.also+"/") }

// note records a browser event that must not happen, and counts requests.
func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	complain := func(format string, args ...any) { b.wrong = append(b.wrong, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			complain("console.%s: %s%s", e.Type, arg.Value, arg.Description)
		}
	case *runtime.EventExceptionThrown:
		if what := e.ExceptionDetails.Exception.Description; !tooLate.MatchString(what) {
			complain("exception: %s %s", e.ExceptionDetails.Text, what)
		}
	case *log.EventEntryAdded:
		if (e.Entry.Source != log.EntrySourceNetwork || !b.isRefused(e.Entry.URL)) && !b.isAlso(e.Entry.URL) {
			complain("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if csp := e.Issue.Details.ContentSecurityPolicyIssueDetails; csp != nil {
			complain("policy: %s %s", csp.ViolatedDirective, csp.BlockedURL)
		}
	case *network.EventRequestWillBeSent:
		b.asked[e.Request.URL]++
		if u := e.Request.URL; !strings.HasPrefix(u, b.site+"/") && !strings.HasPrefix(u, "data:") && !b.isAlso(u) {
			complain("request: %s", u)
		}
	}
}

// do runs actions, which must succeed within patience.
func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// call runs a protocol command in a tab.
func call[P, R any](t *testing.T, b *tab, command cdp.Command[P, R], params P) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, command, params)
	require.NoError(t, err)
	return answer
}

// eval returns the value of a JavaScript expression in the page, even if its scripts are disabled.
func eval[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err, expression)
	return value
}

// expectError expects an error response for a page.
func (b *tab) expectError(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused[b.site+path] = true
}

// refuse expects an error response for a URL. If the path is /auth/callback, a request may also
// have a query.
func (b *tab) refuse(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused[url] = true
}

// isRefused reports whether an error response is expected for a URL. The caller holds the lock.
func (b *tab) isRefused(url string) bool {
	path, _, _ := strings.Cut(url, "?")
	return b.refused[url] || b.refused[path] && strings.HasSuffix(path, "/auth/callback")
}

// timesAsked returns the number of requests for a page.
func (b *tab) timesAsked(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[b.site+path]
}

// open loads a page, which must have the given status.
func (b *tab) open(t *testing.T, path string, status int64) {
	t.Helper()
	if status >= http.StatusBadRequest {
		b.expectError(path)
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.NavigateResponse(b.site+path))
	require.NoError(t, err)
	require.Equal(t, status, answer.Status, path)
}

// until waits for a condition in the page, even across navigations.
func (b *tab) until(t *testing.T, condition string) {
	t.Helper()
	b.untilOrStill(t, condition, `""`)
}

// untilOrStill is like until, but its time limit starts again whenever the value of the expression
// moving changes. It is for work of unknown duration.
func (b *tab) untilOrStill(t *testing.T, condition, moving string) {
	t.Helper()
	again := time.NewTicker(tick)
	defer again.Stop()
	for last, since := "", time.Now(); ; {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && Boolean(`+condition+`)`))
		if holds {
			return
		}
		if now, failed := chromedp.Run(b.ctx, chromedp.Evaluate[string](moving)); failed == nil && now != last {
			last, since = now, time.Now()
		}
		<-again.C
		if time.Since(since) > patience {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.activeElement?.outerHTML.slice(0, 200) + "\n" + document.body.innerText`))
			require.Fail(t, "never: "+condition, "%v\n%s", err, text)
		}
	}
}

// at waits until the page with this path and query is shown.
func (b *tab) at(t *testing.T, path string) {
	t.Helper()
	b.until(t, fmt.Sprintf("location.pathname + location.search === %q", path))
}

// has waits until the page contains a text.
func (b *tab) has(t *testing.T, text string) {
	t.Helper()
	b.until(t, fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// path returns the tab's path and query.
func (b *tab) path(t *testing.T) string {
	t.Helper()
	return eval[string](t, b, "location.pathname + location.search")
}

func (b *tab) width(t *testing.T, pixels int64) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(pixels, tall))
}

// media emulates preferences of the user's system, given as alternating names and values.
func (b *tab) media(t *testing.T, preferences ...string) {
	t.Helper()
	var features []*emulation.MediaFeature
	for i := 0; i < len(preferences); i += 2 {
		features = append(features, &emulation.MediaFeature{Name: preferences[i], Value: preferences[i+1]})
	}
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// withoutScripts disables scripts.
func (b *tab) withoutScripts(t *testing.T) {
	t.Helper()
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}
