package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

func TestADestinationIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	require.Contains(t, b.page(t, "/destinations"), "not served")
	page := b.page(t, "/destinations/app")
	require.Contains(t, page, "https://app.example/hook")
	require.Contains(t, page, "/effects?destination=app&amp;state=failed")
	require.Contains(t, b.page(t, "/destinations/app/pause"), "use up no attempts")
	got := b.post("/destinations/app/pause", url.Values{"reason": {"they <maintain>"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	page = b.page(t, got.Header().Get("Location"))
	require.Contains(t, page, "Paused and recorded.")
	require.Contains(t, page, "they &lt;maintain&gt;")
	require.Contains(t, page, "/destinations/app/resume")
	require.Equal(t, http.StatusSeeOther, b.post("/destinations/app/resume", nil).Code)
	require.NotContains(t, b.page(t, "/destinations/app"), "maintain")

	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 2)
	require.Equal(t, "console", log[1].Via)
	for _, path := range []string{"/destinations/none", "/destinations/none/pause", "/destinations/app/explode", "/destinations/%00"} {
		require.Equal(t, http.StatusNotFound, b.get(path).Code, path)
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, b.post(path, nil).Code, path)
	}
}

// A destination's page shows why effects do not arrive. After repairing the receiver, an operator
// need not wait for the next probe.
func TestADestinationSaysWhatItAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Contains(t, b.page(t, "/destinations/app"), "Nothing was attempted in the last hour.")
	b.failed(t, "evt_1")
	b.failed(t, "evt_2")
	b.doubted(t, "evt_3")
	b.dispatch(t, b.accept(t, "evt_4", "invoice.paid", `{}`), ledger.AtLeastOnce)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.minutes (minute, kind, name, what, n)
		SELECT date_trunc('minute', now()), 'destination', 'app', what, n
		FROM (VALUES ('first', 40), ('first_failed', 3), ('attempts', 42), ('took:0.25', 41), ('took:5', 1)) AS m (what, n)`)
	require.NoError(t, err)
	_, err = b.box.Fleet().Trip(t.Context(), "app", "10 of 10 failed with 503", time.Hour)
	require.NoError(t, err)
	page := b.page(t, "/destinations/app")
	for _, want := range []string{
		"10 of 10 failed with 503", "<dt>Waiting</dt><dd>1; the oldest has been due since", "7.5 % of 40 in the last hour",
		"p50 within 250ms, p99 within 5s", "0.1/s on average over the last five minutes", `<td class="number">2</td><td>422</td>`, "<td>timeout</td>",
		"Current states of the last 3 attempted effects: 2 failed, 1 parked.", "3 attempts as a table", "/destinations/app/probe",
	} {
		require.Contains(t, page, want)
	}
	wellMade(t, "/destinations/app", page)
	require.Contains(t, b.page(t, "/destinations/app/probe"), "even though its breaker is open")
	got := b.post("/destinations/app/probe", url.Values{"reason": {"restarted"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Contains(t, b.page(t, got.Header().Get("Location")), "a worker probes the destination within ten seconds")
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, []any{fleet.ActionProbe, "restarted", int64(1)}, []any{log[0].Action, log[0].Reason, log[0].Affected})
	known, err := b.box.Fleet().Destinations(t.Context())
	require.NoError(t, err)
	require.Less(t, time.Until(known[0].ProbeAt), time.Second)
}

// A destination that works is not called idle if the newest effects of all destinations include
// none of its effects.
func TestADestinationWithFewEffectsIsNotCalledIdle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `SET LOCAL session_replication_role = replica;
		INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, last_attempt_at, finished_at)
		SELECT 's', i, 'hl_' || i, CASE i WHEN 1 THEN 'app' ELSE 'crm' END, 'q', 'at_least_once', 'done', 1, now(), now()
		FROM generate_series(1, 2002) AS i`)
	require.NoError(t, err)
	require.NotContains(t, b.page(t, "/destinations/app"), "Nothing was attempted")
}

func TestASourceSaysHowItIsSetUpAndWhichSecretsMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.last_seen (kind, name, what, seen_at) VALUES ('source', 'stripe', 'secret:bbbb', now() - interval '3 days')`)
	require.NoError(t, err)
	require.Contains(t, b.page(t, "/sources"), "not seen yet")
	page := b.page(t, "/sources/stripe")
	require.Contains(t, page, "Waiting for the first delivery")
	require.Contains(t, page, "Give <code>https://hooks.example.com/webhooks/stripe</code> to Stripe &amp; co.")
	require.Contains(t, page, "has matched no recorded delivery")
	require.Contains(t, page, "matched 3 days ago")
	require.Less(t, strings.Index(page, "has matched no recorded delivery"), strings.Index(page, "matched 3 days ago"), "the second secret has matched, wherever it stood then")
	require.Contains(t, page, "hooklatch send stripe")
	require.Equal(t, http.StatusNotFound, b.get("/sources/none").Code)
	b.seen(t, "accepted")
	require.Eventually(t, func() bool { return !strings.Contains(b.get("/sources/stripe").Body.String(), "Waiting for the first") },
		time.Minute, 100*time.Millisecond, "the answer is shared for two seconds")
}

// seen records that a count of the source stripe increased now.
func (b *bundle) seen(t *testing.T, what string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.last_seen (kind, name, what, seen_at) VALUES ('source', 'stripe', $1, now())`, what)
	require.NoError(t, err)
}

// refuse puts deliveries into quarantine, as a gateway does.
func (b *bundle) refuse(t *testing.T, bodies ...string) {
	t.Helper()
	keeper, err := quarantine.NewKeeper(quarantine.KeeperOptions{Pool: b.pool, Timeout: time.Minute})
	require.NoError(t, err)
	for _, body := range bodies {
		keeper.Keep("stripe", netip.MustParsePrefix("203.0.113.7/32"), len(body), func() quarantine.Refused {
			return quarantine.Refused{Source: "stripe", Reason: "wrong_signature", Detail: "<b>none</b> matches", Method: http.MethodPost, Host: "hooks.example", Target: "/webhooks/stripe", Body: []byte(body)}
		})
	}
	require.Eventually(t, func() bool {
		shares, err := b.refused.Count(t.Context(), quarantine.Filter{})
		return err == nil && len(shares) == 1 && shares[0].Count == int64(len(bodies))
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, keeper.Stop(t.Context()))
}

func TestWhatWasRefusedIsVerifiedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Contains(t, b.page(t, "/quarantine"), "No refused deliveries")
	b.refuse(t, "genuine", "forged", "forged too")
	page := b.page(t, "/quarantine?source=stripe")
	require.Contains(t, page, "Verify 3 again")
	require.Contains(t, page, "&lt;b&gt;none")
	require.Contains(t, page, "hooklatch quarantine retry --source stripe")
	wellMade(t, "/quarantine", page)
	require.Contains(t, b.page(t, "/quarantine?source=github"), "No refused deliveries")

	b.refused.proven = "genuine"
	require.Contains(t, b.page(t, "/quarantine/verify?source=stripe"), "accepted once, as if the sender had delivered it again")
	require.Contains(t, b.page(t, "/quarantine"), "Verify 3 again", "the confirmation page changes nothing")
	got := b.post("/quarantine/verify?source=stripe", url.Values{"reason": {"rolled"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	at := got.Header().Get("Location")
	require.Equal(t, "/runs/1?done=begun", at)
	require.Contains(t, b.page(t, "/quarantine"), "Verify 3 again", "a worker verifies them")
	_, err := b.box.Runs().Verifying(b.refused.verify).Work(t.Context(), 1, time.Now().Add(time.Hour), nil)
	require.NoError(t, err)
	page = b.page(t, "/runs/1")
	for _, want := range []string{"retry refused deliveries: source stripe", "3 of 3", "2: wrong_signature", `"/quarantine?source=stripe"`} {
		require.Contains(t, page, want)
	}
	wellMade(t, "/runs/1", page)
	require.Contains(t, b.page(t, "/quarantine"), "Verify 2 again")
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, "rolled", log[0].Reason)
	require.NotContains(t, b.page(t, "/quarantine?done=verified1-2%3Cb%3E"), "<b>")
}

// A refused delivery's page shows the reason and whether the delivery would be accepted now. An
// operator can verify this delivery again without the others.
func TestARefusedDeliveryIsVerifiedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuse(t, `{"forged":true}`, "genuine")
	list, err := b.refused.List(t.Context(), quarantine.Filter{}, 10)
	require.NoError(t, err)
	byBytes := map[int]string{}
	for _, d := range list {
		byBytes[d.Bytes] = "/quarantine/" + d.ID.String()
		require.Contains(t, b.page(t, "/quarantine"), byBytes[d.Bytes])
	}
	require.Len(t, byBytes, 2)
	forged, genuine := byBytes[max(list[0].Bytes, list[1].Bytes)], byBytes[min(list[0].Bytes, list[1].Bytes)]
	b.refused.proven = "genuine"
	page := b.page(t, forged)
	for _, want := range []string{"The delivery would still be refused: wrong_signature, the secret differs", "&lt;b&gt;none&lt;/b&gt; matches", "&#34;forged&#34;", "POST http://hooks.example/webhooks/stripe"} {
		require.Contains(t, page, want)
	}
	wellMade(t, forged, page)
	require.Contains(t, b.page(t, genuine), "The delivery would be accepted now")
	require.Contains(t, b.page(t, "/quarantine"), "Verify 2 again", "viewing the delivery changes nothing")

	require.Contains(t, b.page(t, genuine+"/verify"), "accepted once, as if the sender had delivered it again")
	got := b.post(forged+"/verify", url.Values{"reason": {"rolled"}})
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Contains(t, b.page(t, got.Header().Get("Location")), "Verified again: 0 accepted, 1 still refused")
	got = b.post(genuine+"/verify", url.Values{"reason": {"rolled"}})
	require.Contains(t, b.page(t, got.Header().Get("Location")), "Verified again: 1 accepted, 0 still refused")
	for _, path := range []string{genuine, genuine + "/verify", "/quarantine/none", "/quarantine/%00"} {
		require.Equal(t, http.StatusNotFound, b.get(path).Code, path)
	}
	require.Equal(t, http.StatusNotFound, b.post(genuine+"/verify", nil).Code, "the delivery is no longer in quarantine")
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, "rolled", log[0].Reason)
}

func TestWithoutAConfigurationThereAreStillPages(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.Sources, o.Destinations, o.Routes = nil, nil, nil })
	b.failed(t, "evt_1")
	b.seen(t, "accepted")
	require.Contains(t, b.page(t, "/events/stripe/evt_1"), "this process has no routes")
	require.Contains(t, b.page(t, "/sources/stripe"), "not in the configuration")
	crawl(t, b)
}

// The navigation shows the number of items that need attention, once it is known.
func TestTheRailSaysWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failed(t, "evt_1")
	b.doubted(t, "evt_2")
	b.refuse(t, "forged")
	require.NoError(t, b.box.Fleet().SetPaused(t.Context(), "app", true, ledger.Operator{Who: "ada", Via: "cli"}))
	require.NotContains(t, b.page(t, "/help"), `class="badge"`, "a page does not wait for the badge")
	require.Eventually(t, func() bool {
		page := b.page(t, "/help")
		return strings.Contains(page, `Effects <span class="badge">2<`) && strings.Contains(page, `Destinations <span class="badge">1<`) &&
			strings.Contains(page, `Quarantine <span class="badge">1<`)
	}, time.Minute, 10*time.Millisecond)
	wellMade(t, "/help", b.page(t, "/help"))
}

func TestPagesDoNotNeedWhatTheRailSays(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	b := setup(t, func(o *console.Options) {
		o.Status = func(context.Context) (*doctor.Status, error) {
			<-never
			return nil, errors.New("away")
		}
	})
	b.failed(t, "evt_1")
	for _, path := range []string{"/events", "/effects", "/destinations", "/help"} {
		require.NotContains(t, b.page(t, path), `class="badge"`, path)
	}
}
