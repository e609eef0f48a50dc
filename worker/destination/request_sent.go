package destination

import (
	"context"
	"net/http"
	"net/http/httptrace"

	"github.com/hooklatch/hooklatch/internal/failpoint"
)

// placeRequestSent is the failpoint after the whole request is sent and before the answer is
// read.
const placeRequestSent = "effect.request_sent"

// requestSent receives the result of that failpoint, in a binary that has failpoints.
type requestSent chan error

// passWhenSent hits the failpoint when net/http has written the request, in a goroutine of
// net/http.
func passWhenSent(client *httptrace.ClientTrace) requestSent {
	sent := make(requestSent, 1)
	client.WroteRequest = func(httptrace.WroteRequestInfo) {
		select {
		case sent <- failpoint.Hit(placeRequestSent):
		default: // a request that net/http wrote a second time
		}
	}
	return sent
}

// awaited returns the answer, or the error of the failpoint by which the answer is lost.
func (s requestSent) awaited(ctx context.Context, resp *http.Response) (*http.Response, error) {
	var err error
	select {
	case err = <-s:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = resp.Body.Close() // the answer is lost
		return nil, err
	}
	return resp, nil
}
