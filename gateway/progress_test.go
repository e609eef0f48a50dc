package gateway_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A delivery counts as progress from the end of its body to its response, so that a slow
// sender does not look like a stall.
func TestProgressIsOfWhatTheGatewayDoes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	progress := func() [2]int64 {
		underway, ended := b.gateway.Progress()
		return [2]int64{underway, ended}
	}
	require.Equal(t, [2]int64{0, 0}, progress())
	entered, release := b.held(t)
	answered := make(chan answer, 1)
	go func() { answered <- b.post(t, "orders", `{"id":"a","type":"x"}`) }()
	<-entered
	b.dribble(t, "orders", "203.0.113.1") // is not counted while it arrives
	require.Equal(t, http.StatusUnauthorized, b.post(t, "orders", `{}`, func(r *http.Request) { r.Header.Del("X-Signature") }).status)
	require.Equal(t, [2]int64{1, 1}, progress())
	release()
	require.Equal(t, http.StatusOK, (<-answered).status)
	require.Eventually(t, func() bool { return progress() == [2]int64{0, 2} }, time.Minute, time.Millisecond)
}
