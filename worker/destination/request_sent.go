package destination

import (
	"context"
	"net/http"
	"net/http/httptrace"

	"github.com/hooklatch/hooklatch/internal/failpoint"
)

// placeRequestSent is passed when all of a request is on its way, and the answer is
// not read yet.
const placeRequestSent = "effect.request_sent"

// requestSent is what came of passing that place, in a binary that has places.
type requestSent chan error

// passWhenSent passes the place when net/http has written the request, on its own
// goroutine.
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

// awaited is the answer, or the error in whose stead it is lost.
func (s requestSent) awaited(ctx context.Context, resp *http.Response) (*http.Response, error) {
	var err error
	select {
	case err = <-s:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = resp.Body.Close() // what it says is lost
		return nil, err
	}
	return resp, nil
}
