package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

func TestAnOrderIsAskedForCarriedOutAndRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	path := "/effects/" + key + "/retry"
	page := b.page(t, path)
	require.Contains(t, page, "with the same key and the same body")
	require.Equal(t, ledger.EffectFailed, b.effect(t, key).State, "the confirmation page changes nothing")

	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(url.Values{"reason": {"it was the wrong URL"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("ada", "")
	got := b.answer(r)
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
	require.Equal(t, "/effects/"+key+"?done=retry", got.Header().Get("Location"))
	require.Equal(t, ledger.EffectPending, b.effect(t, key).State)
	require.Contains(t, b.page(t, got.Header().Get("Location")), "Retry requested and recorded.")
	require.Contains(t, b.page(t, "/events/stripe/evt_1"), "it was the wrong URL")

	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, "ada", log[0].Who)
	require.Equal(t, "console", log[0].Via)
	require.Equal(t, "it was the wrong URL", log[0].Reason)
	require.Equal(t, key, log[0].Target)
}

func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	got := b.post("/effects/"+key+"/park", nil)
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "only pending, started and in-doubt effects can be parked")
	require.Equal(t, http.StatusConflict, b.get("/effects/"+key+"/park").Code)
	require.Equal(t, http.StatusNotFound, b.post("/effects/"+key+"/explode", nil).Code)
	require.Equal(t, http.StatusNotFound, b.post("/effects/hl_0/retry", nil).Code)
	require.Equal(t, http.StatusMethodNotAllowed, b.post("/effects/"+key, nil).Code)
	require.Equal(t, ledger.EffectFailed, b.effect(t, key).State)
	require.NotContains(t, b.page(t, "/effects/"+key+"?done=exploded"), "recorded")
}

// Several requests for the same action arrive simultaneously, and one of them is carried out.
func TestTwoOrdersAtOnceAreOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	var both sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		both.Go(func() { codes[i] = b.post("/effects/"+key+"/retry", nil).Code })
	}
	both.Wait()
	done := 0
	for _, code := range codes {
		if code == http.StatusSeeOther {
			done++
		} else {
			require.Equal(t, http.StatusConflict, code)
		}
	}
	require.Equal(t, 1, done)
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
}

// An effect that a retry may apply twice is retried only after the user confirms a check of the
// receiver.
func TestADoubtIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.doubted(t, "evt_1")
	path := "/effects/" + key + "/retry"
	require.Contains(t, b.page(t, path), "I have checked the receiver")
	got := b.post(path, url.Values{"reason": {"they say <no>"}})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "they say &lt;no&gt;", "the form keeps what the user typed")
	wellMade(t, path, got.Body.String())
	require.Equal(t, ledger.EffectParked, b.effect(t, key).State)
	require.Equal(t, http.StatusSeeOther, b.post(path, url.Values{"looked": {"yes"}}).Code)
	require.Equal(t, ledger.EffectInDoubt, b.effect(t, key).State)
}

// An operator can release or drop a held event. The event's page offers only possible actions.
func TestAHeldEventIsReleasedOrDroppedByItsName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.accept(t, "evt_1", "invoice.paid", `{}`)
	b.accept(t, "evt_2", "invoice.paid", `{}`)
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET outcome = 'held'`)
	require.NoError(t, err)
	page := b.page(t, "/events/stripe/evt_1")
	for verb, offered := range map[string]bool{"release": true, "drop": true, "replay": false} {
		require.Equal(t, offered, strings.Contains(page, `href="/events/stripe/evt_1/`+verb+`"`), verb)
		require.Equal(t, offered, strings.Contains(page, "hooklatch events "+verb+" stripe evt_1"), verb)
	}
	require.Contains(t, b.page(t, "/events/stripe/evt_1/release"), "The event is dispatched, although its signature was already seen")
	got := b.post("/events/stripe/evt_1/release", url.Values{"reason": {"asked the team"}})
	require.Equal(t, "/events/stripe/evt_1?done=release", got.Header().Get("Location"))
	require.Contains(t, b.page(t, got.Header().Get("Location")), "Released and recorded.")
	require.Equal(t, http.StatusSeeOther, b.post("/events/stripe/evt_2/drop", nil).Code)
	got = b.post("/events/stripe/evt_1/drop", nil)
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "It is received.")
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 2)
}
