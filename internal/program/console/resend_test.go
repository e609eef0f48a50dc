package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// bodyOf returns the body that an effect sends.
func (b *bundle) bodyOf(t *testing.T, key string) string {
	t.Helper()
	e := b.effect(t, key)
	require.NoError(t, b.box.Ledger().LoadBody(t.Context(), &e))
	return string(e.Request.Body)
}

// An effect's request is edited on a page and sent again as a new effect. The pages of both effects
// link to each other.
func TestAnEffectIsEditedAndResent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const body = "\n{\"note\": \"</textarea><script>alert(1)</script>\",\n \"n\": 1}\n"
	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", body), ledger.AtLeastOnce)
	b.attempt(t, key, ledger.Settlement{Verdict: ledger.VerdictRefused, ResponseStatus: 422})
	path := "/effects/" + key + "/resend"
	require.Contains(t, b.page(t, "/effects/"+key), `href="`+path+`"`)
	require.Contains(t, b.page(t, "/effects/"+key), "hooklatch effects resend "+key+" --edit --reason WHY")
	ask := b.page(t, path)
	wellMade(t, path, ask)
	require.Contains(t, ask, "its key differs")
	require.Contains(t, ask, "Content-Type: application/json\n</textarea>")
	require.Contains(t, ask, "\n\n{&#34;note&#34;: &#34;&lt;/textarea&gt;&lt;script&gt;")
	once := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(ask)
	require.Len(t, once, 2)

	form := url.Values{
		"once": {once[1]}, "headers": {"Content-Type: application/json\r\nX-Repaired: yes\r\n"},
		"body": {"\r\n{\"note\": \"<b>fine</b>\",\r\n \"n\": 2}\r\n"}, "reason": {"n was wrong"},
	}
	got := b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "&lt;b&gt;fine&lt;/b&gt;", "the form keeps what the user typed")
	require.Contains(t, got.Body.String(), "X-Repaired: yes")
	wellMade(t, path, got.Body.String())
	form.Set("looked", "yes")
	wrong := url.Values{"looked": {"yes"}, "headers": {"Hooklatch-Attempt: 7"}, "body": {"typed"}}
	got = b.post(path, wrong)
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "Hooklatch-Attempt is set by the destination")
	require.Contains(t, got.Body.String(), "typed</textarea>")

	var leads []string
	for range 2 { // submitted twice
		got = b.post(path, form)
		require.Equal(t, http.StatusSeeOther, got.Code, got.Body)
		leads = append(leads, got.Header().Get("Location"))
	}
	require.Equal(t, leads[0], leads[1])
	anew, _, _ := strings.Cut(strings.TrimPrefix(leads[0], "/effects/"), "?")
	require.NotEqual(t, key, anew)
	require.Equal(t, "\n{\"note\": \"<b>fine</b>\",\n \"n\": 2}\n", b.bodyOf(t, anew))
	require.Equal(t, map[string][]string{"X-Repaired": {"yes"}}, b.effect(t, anew).Request.Headers)
	require.Equal(t, ledger.EffectPending, b.effect(t, anew).State)
	require.Equal(t, body, b.bodyOf(t, key), "the old effect stays as it is")
	page := b.page(t, leads[0])
	require.Contains(t, page, "Resent and recorded: this is the new effect.")
	require.Contains(t, page, `<dt>Resent from</dt><dd><a class="mono" href="/effects/`+key+`"`)
	require.Contains(t, b.page(t, "/effects/"+key), `<dt>Resent as</dt><dd><a class="mono" href="/effects/`+anew+`"`)
	event := b.page(t, "/events/stripe/evt_1")
	require.Contains(t, event, `resent from <a class="mono" href="/effects/`+key+`"`)
	require.Contains(t, event, "n was wrong")
	log, err := b.box.Ledger().OperatorLog(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Equal(t, ledger.ActionResendEffect, log[0].Action)
	require.Equal(t, "resent as "+anew, log[0].Result)
}

// The body that a program gives is sent byte for byte. An effect of a redacted event cannot be
// resent.
func TestAProgramResendsAnEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.failed(t, "evt_1")
	path := "/effects/" + key + "/resend"
	got := b.answer(asking{path, `{"body":"a\r\nb","headers":"Content-Type: text/plain"}`}.request(signin.Operator))
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Contains(t, got.Body.String(), "Confirm that you have checked the receiver")
	got = b.answer(asking{path, `{"looked":true,"headers":"X A: b"}`}.request(signin.Operator))
	require.Equal(t, http.StatusBadRequest, got.Code)
	got = b.answer(asking{path, `{"looked":true,"body":"a\r\nb","headers":"Content-Type: text/plain"}`}.request(signin.Operator))
	require.Equal(t, http.StatusOK, got.Code, got.Body)
	var done struct{ At string }
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &done))
	anew := strings.TrimPrefix(done.At, "/api/effects/")
	require.Equal(t, "a\r\nb", b.bodyOf(t, anew))
	var shown struct {
		From string   `json:"resent_from"`
		As   []string `json:"resent_as"`
	}
	require.NoError(t, json.Unmarshal(b.get("/api/effects/"+anew).Body.Bytes(), &shown))
	require.Equal(t, key, shown.From)
	require.NoError(t, json.Unmarshal(b.get("/api/effects/"+key).Body.Bytes(), &shown))
	require.Equal(t, []string{anew}, shown.As)

	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.processed_events SET redacted_at = now()`)
	require.NoError(t, err)
	got = b.answer(asking{path, `{"looked":true}`}.request(signin.Operator))
	require.Equal(t, http.StatusConflict, got.Code)
	require.Contains(t, got.Body.String(), "Its event stripe/evt_1 was erased or redacted.")
	require.Equal(t, http.StatusNotFound, b.get("/effects/hl_0/resend").Code)
}

// A body that a page cannot show is sent unchanged.
func TestABodyThatIsNoTextIsResentUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const body = "\x00\xff binary"
	key := b.dispatch(t, b.accept(t, "evt_1", "invoice.paid", body), ledger.AtLeastOnce)
	ask := b.page(t, "/effects/"+key+"/resend")
	require.Contains(t, ask, "is not text, or is too large for a page")
	require.NotContains(t, ask, `name="body"`)
	got := b.post("/effects/"+key+"/resend", url.Values{"looked": {"yes"}, "headers": {"Content-Type: application/json"}})
	require.Equal(t, http.StatusSeeOther, got.Code)
	anew, _, _ := strings.Cut(strings.TrimPrefix(got.Header().Get("Location"), "/effects/"), "?")
	require.Equal(t, body, b.bodyOf(t, anew))
}

// Only a user who may see the whole request can resend it: a mask never becomes a value.
func TestMaskedRequestsAreNotResent(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *console.Options) { o.Sight = desk.Sight{Mask: map[string][]string{"stripe": {"/customer"}}} })
	key := b.failed(t, "evt_1")
	path := "/effects/" + key + "/resend"
	form := url.Values{"looked": {"yes"}, "body": {"{}"}}
	for role, code := range map[signin.Role]int{signin.Viewer: http.StatusForbidden, signin.Operator: http.StatusForbidden, signin.Admin: http.StatusOK} {
		got := b.sent(role, http.MethodGet, path, nil)
		require.Equal(t, code, got.Code, role)
		if code != http.StatusOK {
			require.NotContains(t, got.Body.String(), "cus_42")
			require.Equal(t, code, b.sent(role, http.MethodPost, path, form).Code, role)
			require.Equal(t, code, b.answer(asking{path, `{"looked":true}`}.request(role)).Code, role)
		}
	}
	made, err := b.box.Ledger().Resends(t.Context(), key)
	require.NoError(t, err)
	require.Empty(t, made)
	require.Equal(t, http.StatusSeeOther, b.sent(signin.Admin, http.MethodPost, path, form).Code)
}
