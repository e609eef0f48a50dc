package crashtest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// deepSearch is an expression of the maximum depth and length for a search. No event matches it.
var deepSearch = func() string {
	const depth = 28
	one := strings.Repeat("[", depth) + "body.id" + strings.Repeat("]", depth) + ".size() == 2"
	return strings.Join([]string{one, one, one, one, one, one, one, one, one, one}, " || ")
}()

// Four viewers who repeatedly search with a condition that no event matches do not slow down the
// acceptance of deliveries.
//
// The test compares the medians of five rounds, each with 6 seconds without and 6 seconds with
// searches.
//
//nolint:paralleltest // it measures time
func TestSearchesOfViewersDoNotSlowAcceptingDown(t *testing.T) {
	if !long() {
		t.Skip("set HOOKLATCH_LONG=1: it measures time, on a quiet machine")
	}
	const rounds, length, viewers = 5, 6 * time.Second, 4
	pool := pgtest.New(t, pgtest.MaxConns(4))
	fill, err := os.ReadFile("../../../outbox/find/testdata/fill.sql")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), strings.ReplaceAll(string(fill), ":rows", "200000"))
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)

	tokens := make([]string, viewers)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("{name: viewer%d, role: viewer, token: %q}", i, viewerToken(i))
	}
	p := newProcess(t, pool, "serve", forward)
	text, err := os.ReadFile(p.config)
	require.NoError(t, err)
	changed := strings.Replace(string(text), "admin: {listen", "admin: {auth: {payloads: viewer}, tokens: ["+strings.Join(tokens, ", ")+"], listen", 1)
	require.NoError(t, os.WriteFile(p.config, []byte(changed), 0o600))
	p.start(t)

	var quiet, beside []time.Duration
	for round := range rounds {
		quiet = append(quiet, median(p.deliverFor(t, length, fmt.Sprintf("quiet_%d", round))))
		ctx, cancel := context.WithCancel(t.Context())
		var searching sync.WaitGroup
		var answered, refused atomic.Int64
		for i := range viewers {
			searching.Go(func() {
				for ctx.Err() == nil {
					switch status := p.search(ctx, viewerToken(i)); status {
					case http.StatusOK:
						answered.Add(1)
					case 0: // the search was cut off
					default:
						refused.Add(1)
					}
				}
			})
		}
		beside = append(beside, median(p.deliverFor(t, length, fmt.Sprintf("beside_%d", round))))
		cancel()
		searching.Wait()
		t.Logf("%d searches answered, %d refused", answered.Load(), refused.Load())
		require.Positive(t, answered.Load())
	}
	ratio := float64(median(beside)) / float64(median(quiet))
	t.Logf("p50 of accepting, medians of %d: quiet %s, beside %d searches %s: %.2f times", rounds, median(quiet), viewers, median(beside), ratio)
	require.LessOrEqual(t, ratio, 1.5, "%s %s", quiet, beside)
}

func viewerToken(i int) string { return fmt.Sprintf("viewer-%d-0123456789abcdef0123456789abcdef", i) }

// search returns the status of a search, or 0 without a response.
func (g *process) search(ctx context.Context, token string) int {
	ask := strings.TrimSuffix(g.ready, "/readyz") + "/api/events?when=" + url.QueryEscape(deepSearch)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, http.NoBody)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := g.client.Do(request)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
