package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/worker/route"
)

// The response to a trial matches the OpenAPI document, even for hostile events.
func TestATrialIsAsDescribed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := documented(t, b)
	b.accept(t, "evt_1", "invoice.paid", `{"amount": 5}`)
	b.accept(t, "evt_2", "invoice.paid", `{"amount": 50}`)
	b.accept(t, hostile, "invoice.paid", `{"`+canary+`":"`+hostile+`"}`)
	got := b.answer(asking{"/try", `{"route": "body.amount > 10", "source": "stripe"}`}.request(signin.Operator))
	d.holds(t, "POST /api/try", got)
	require.Equal(t, http.StatusOK, got.Code, got.Body)
	var report struct {
		Events  int
		Effects map[string]int
	}
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &report))
	require.Equal(t, 3, report.Events)
	require.Equal(t, map[string]int{"error": 1, "gone": 1}, report.Effects)
	page := b.page(t, "/try?event=stripe/evt_1")
	require.Contains(t, page, `value="stripe/evt_1"`)
}

// Only one typed route is compiled at a time. A route that is not compiled in time, or that makes
// CEL panic, breaks neither the page nor the process.
func TestATypedRouteIsCompiledInTurn(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{})
	b := setup(t, func(o *console.Options) {
		try := o.Try
		o.Try = func(text string) (console.Trial, error) {
			switch {
			case strings.HasPrefix(text, "slow"):
				<-blocked
			case strings.HasPrefix(text, "panic"):
				panic("in CEL")
			}
			return try(text)
		}
	})
	asked := func(text string) (int, string) {
		got := b.answer(asking{"/try", `{"route": "` + text + `", "source": "stripe"}`}.request(signin.Operator))
		return got.Code, got.Body.String()
	}
	status, text := asked("panic")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, text, "cannot be compiled: in CEL")
	status, _ = asked("slow")
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, text = asked("true")
	require.Equal(t, http.StatusServiceUnavailable, status, "the first compilation is still running")
	require.Contains(t, text, strings.TrimPrefix(route.ErrCompileBusy.Error(), "the"))
	close(blocked)
	require.Eventually(t, func() bool {
		status, _ := asked("true")
		return status == http.StatusOK
	}, patience, 10*time.Millisecond)
}
