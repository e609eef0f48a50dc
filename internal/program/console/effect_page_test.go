package console_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The page of an effect in doubt says what the receiver answered, and what blocks the next attempt.
func TestAnEffectSaysWhatBlocksIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	exec := func(sql string) {
		_, err := b.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	unknown := b.doubted(t, "evt_unknown")
	require.Contains(t, b.page(t, "/effects/"+unknown), "an attempt was started and got no answer")

	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", `{}`), ledger.AtLeastOnce)
	page := b.page(t, "/effects/"+key)
	require.Contains(t, page, "Blocked: no running process serves the destination")
	require.Contains(t, page, `<a href="/destinations/app">app</a>`)
	exec(`INSERT INTO hooklatch.workers (id, started_at, config_hash, destinations, queues) VALUES ('w', now(), '', '{app}', '{dst_app}')`)
	require.NotContains(t, b.page(t, "/effects/"+key), "Blocked:")
	b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, ResponseStatus: 500, Error: "answered 500"})
	page = b.page(t, "/effects/"+key)
	require.Contains(t, page, "the receiver answered 500, which does not say whether it applied the effect")
	require.NotContains(t, page, "got no answer")

	exec(`UPDATE hooklatch.destinations SET breaker_state = 'open', breaker_reason = '10 attempts failed', opened_at = now(), probe_at = now() + interval '9 minutes 59 seconds'`)
	require.Contains(t, b.page(t, "/effects/"+key), "Blocked: the destination&#39;s breaker is open, and the next probe is in 9 min")
	exec(`UPDATE hooklatch.destinations SET operator_paused = true, paused_by = 'ada <a>', paused_at = now(), pause_reason = 'they migrate'`)
	require.Contains(t, b.page(t, "/effects/"+key), "Blocked: the destination is paused by ada &lt;a&gt;: they migrate")
}

// The page of an effect links to its route, unless the configuration no longer has the route.
func TestAnEffectLinksToItsRoute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", `{}`), ledger.AtLeastOnce)
	require.Contains(t, b.page(t, "/effects/"+key), `by route <a href="/routes/paid">paid</a>`)
	b.page(t, "/routes/paid")
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET route = 'removed' WHERE idempotency_key = $1`, key)
	require.NoError(t, err)
	require.Contains(t, b.page(t, "/effects/"+key), "by route removed,")
}

// A sender can begin a body with an @ and a file name. The command uses --data-raw, because curl
// would otherwise read that file.
func TestACopiedCommandSendsNoFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.accept(t, "evt_1", "invoice.paid", "@/etc/passwd")
	key := b.dispatch(t, e, ledger.AtLeastOnce)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET request_url = 'https://app.example/{a,b}[1-9]'`)
	require.NoError(t, err)
	page := html.UnescapeString(b.page(t, "/effects/"+key))
	require.Contains(t, page, "--data-raw @/etc/passwd")
	require.NotContains(t, page, "--data-binary @")
	require.Contains(t, page, "curl --globoff ", "curl would send several requests")
}

// A body that fits in no argument of a shell has no command. The page offers it as a file.
func TestABodyThatIsTooLongForAShellHasNoCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, size := range []int{64 << 10, 64<<10 + 1} {
		id := fmt.Sprint("evt_", i)
		key := b.dispatch(t, b.accept(t, id, "invoice.paid", strings.Repeat("x", size)), ledger.AtLeastOnce)
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET request_url = 'https://app.example/' WHERE idempotency_key = $1`, key)
		require.NoError(t, err)
		page := b.page(t, "/effects/"+key)
		require.Equal(t, size == 64<<10, strings.Contains(page, "curl --globoff"))
		require.Contains(t, page, "/body")
	}
}
