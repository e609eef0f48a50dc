package destination

import (
	"context"
	"net/http"
	"net/http/httptrace"

	"github.com/hooklatch/hooklatch/internal/failpoint"
)

// placeRequestSent is the failpoint after the whole request is sent and before the response is
// read.
const placeRequestSent = "effect.request_sent"

// requestSent receives the result of the failpoint placeRequestSent, in a binary that has
// failpoints.
type requestSent chan error

// passWhenSent makes net/http hit the failpoint when it has written the request. The returned
// requestSent receives the result.
func passWhenSent(client *httptrace.ClientTrace) requestSent {
	sent := make(requestSent, 1)
	client.WroteRequest = func(httptrace.WroteRequestInfo) {
		select {
		case sent <- failpoint.Hit(placeRequestSent):
		default: // net/http wrote the request a second time
		}
	}
	return sent
}

// awaited waits for the failpoint and returns the response. If the failpoint fails or ctx ends,
// awaited returns the error instead, as if the response were lost.
func (s requestSent) awaited(ctx context.Context, resp *http.Response) (*http.Response, error) {
	var err error
	select {
	case err = <-s:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = resp.Body.Close() // simulate a lost response
		return nil, err
	}
	return resp, nil
}
