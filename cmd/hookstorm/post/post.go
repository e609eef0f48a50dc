// Package post makes one delivery of a sender, and records its beginning and the sender's
// view of its end in the history.
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

// maxAnswer is the length of an answer that is read, in bytes.
const maxAnswer = 4 << 10

// Delivery is one request to a gateway.
type Delivery struct {
	Who     string // the sender
	Text    string // informative
	Client  *http.Client
	Request *provider.Request // signed
	// Body is read instead of the body of Request, unless it is nil.
	Body io.Reader
	// Deadline is how long the sender waits. 0: as long as the client does.
	Deadline time.Duration
	// Told is the record in the history, without body, deadline and answer.
	Told history.Delivery
}

// Outcome is what a sender learned of a delivery.
type Outcome struct {
	Acknowledged bool
	Status       int    // 0 without an answer
	Result       string // accepted or duplicate; informative
	Err          error
}

// Make makes the delivery.
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

// send sends the request and waits for the answer until the deadline.
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
	// Without GetBody net/http cannot send a body twice for one delivery.
	request.Header, request.ContentLength = d.Request.Header, int64(len(d.Request.Body))
	if len(d.Request.Body) == 0 {
		request.Body = http.NoBody
	}
	response, err := d.Client.Do(request)
	if err != nil {
		return Outcome{Err: err}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // the status is the answer
	return Outcome{Acknowledged: response.StatusCode/100 == 2, Status: response.StatusCode, Result: response.Header.Get(gateway.StatusHeader)}
}

// kind returns whether the delivery was certainly accepted, was certainly not, or may have
// been.
func (out Outcome) kind() history.Kind {
	if out.Acknowledged {
		return history.OK
	}
	if out.Status >= 300 && out.Status < 500 || out.unsent() {
		return history.Fail
	}
	return history.Unknown
}

// unsent reports whether no connection could be made.
func (out Outcome) unsent() bool {
	dial, ok := errors.AsType[*net.OpError](out.Err)
	return ok && dial.Op == "dial"
}

// Hash returns the hash of a body as the history records it.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
