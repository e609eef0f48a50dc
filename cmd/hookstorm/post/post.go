// Package post makes one delivery of a sender. It records the delivery's beginning, and its end
// as the sender sees it, in the history.
package post

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
)

// maxAnswer is the maximum length of the response that is read, in bytes.
const maxAnswer = 4 << 10

// Delivery is one request to a gateway.
type Delivery struct {
	Who     string // name of the sender
	Text    string // note in the history, for human readers
	Client  *http.Client
	Request *provider.Request // correctly signed, or a forgery
	// Body, if not nil, is read instead of the body of Request.
	Body io.Reader
	// Deadline is the sender's maximum wait. If 0, only the client's limit applies.
	Deadline time.Duration
	// Told is the record in the history. Make adds hash, deadline and response.
	Told history.Delivery
}

// Outcome is a delivery's result, as far as the sender knows it.
type Outcome struct {
	Acknowledged bool
	Status       int    // 0 without a response
	Result       string // value of the header gateway.StatusHeader, such as duplicate
	Err          error
}

// Make performs the delivery, and records its beginning and its end in w.
func (d Delivery) Make(ctx context.Context, w *history.Writer) Outcome {
	told := d.Told
	told.Hash, told.Deadline = Hash(d.Request.Body), d.Deadline.Microseconds()
	begun := told
	operation := w.Begin(history.Record{Who: d.Who, Op: history.OpDeliver, Text: d.Text, Delivery: &begun})
	out := d.send(ctx)
	told.Status, told.Result = out.Status, out.Result
	text := ""
	if out.Err != nil {
		text = out.Err.Error()
	}
	operation.End(out.kind(), text, func(r *history.Record) { r.Delivery = &told })
	return out
}

// send sends the request and waits for the response until the deadline.
func (d Delivery) send(ctx context.Context) Outcome {
	if d.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Deadline)
		defer cancel()
	}
	body := d.Body
	if body == nil {
		body = bytes.NewReader(d.Request.Body)
	}
	request, err := http.NewRequestWithContext(ctx, d.Request.Method, d.Request.URL.String(), io.NopCloser(body))
	if err != nil {
		return Outcome{Err: err}
	}
	// Because of io.NopCloser, the request has no GetBody, so net/http cannot send the body twice.
	request.Header, request.ContentLength = d.Request.Header, int64(len(d.Request.Body))
	if len(d.Request.Body) == 0 {
		request.Body = http.NoBody
	}
	response, err := d.Client.Do(request)
	if err != nil {
		return Outcome{Err: err}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // the body is not needed
	return Outcome{Acknowledged: response.StatusCode/100 == 2, Status: response.StatusCode, Result: response.Header.Get(gateway.StatusHeader)}
}

// kind returns OK if the delivery was certainly accepted, Fail if it certainly was not, and
// Unknown otherwise.
func (out Outcome) kind() history.Kind {
	if out.Acknowledged {
		return history.OK
	}
	if out.Status >= 300 && out.Status < 500 || out.unsent() {
		return history.Fail
	}
	return history.Unknown
}

// unsent reports whether no connection was established.
func (out Outcome) unsent() bool {
	dial, ok := errors.AsType[*net.OpError](out.Err)
	return ok && dial.Op == "dial"
}

// Hash returns the hash of a body as the history records it.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
