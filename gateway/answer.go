package gateway

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/failpoint"
	"github.com/hooklatch/hooklatch/outbox"
)

// StatusHeader is the name of the header that every 2xx response to a delivery has. Its value is
// accepted, duplicate or empty. It is present even if the sender prescribes the response body. A
// handshake response does not have it.
const StatusHeader = "Hooklatch-Status"

// Values of StatusHeader, and of "status" in the response body.
const (
	statusAccepted  = "accepted"  // at least one event was new
	statusDuplicate = "duplicate" // every event is a duplicate
	statusEmpty     = "empty"     // the delivery contains no event; nothing is stored
)

// maxRetryAfter is the longest wait that a 503 asks for, in seconds. The wait is random in
// 1..maxRetryAfter, so that requests refused at the same moment are not all retried at the
// same moment.
const maxRetryAfter = 5

// reply is the response to a request that is not refused.
type reply struct {
	result     result
	status     string // value of StatusHeader; empty for a handshake
	acceptance outbox.Acceptance
	answer     provider.Answer
}

// summary is the body of a 2xx response, unless the sender prescribes another body.
type summary struct {
	Status string `json:"status"`
	// Events is the number of events in the delivery; Duplicates counts the duplicates among
	// them.
	Events     int `json:"events"`
	Duplicates int `json:"duplicates"`
}

// json encodes s as encoding/json does, but without reflection, because it runs for every
// delivery. The status needs no escaping.
func (s summary) json() []byte {
	body := make([]byte, 0, 64)
	body = append(append(body, `{"status":"`...), s.Status...)
	body = strconv.AppendInt(append(body, `","events":`...), int64(s.Events), 10)
	body = strconv.AppendInt(append(body, `,"duplicates":`...), int64(s.Duplicates), 10)
	return append(body, '}')
}

// replyTo builds the response to a delivery that is committed or contains no event. If wanted is
// not nil, it is the response that the sender requires, and replaces the summary.
func replyTo(a outbox.Acceptance, wanted *provider.Answer) *reply {
	sum := summary{Status: statusAccepted, Events: len(a.Events), Duplicates: a.Duplicates()}
	r := &reply{result: resultAccepted, acceptance: a}
	switch {
	case sum.Events == 0:
		sum.Status, r.result = statusEmpty, resultEmpty
	case sum.Events == sum.Duplicates:
		sum.Status, r.result = statusDuplicate, resultDuplicate
	}
	r.status = sum.Status
	if wanted != nil {
		r.answer = *wanted
		return r
	}
	r.answer = provider.Answer{Status: http.StatusOK, ContentType: echo.MIMEApplicationJSON, Body: sum.json()}
	return r
}

func (r *reply) write(c echo.Context) error {
	header := c.Response().Header()
	if r.status != "" {
		header.Set(StatusHeader, r.status)
	}
	maps.Copy(header, r.answer.Header)
	// A handshake response may echo part of the request, which a browser must not display as HTML.
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	if len(r.answer.Body) == 0 {
		return c.NoContent(r.answer.Status)
	}
	if failpoint.Enabled {
		return r.writeInHalves(c)
	}
	return c.Blob(r.answer.Status, r.answer.ContentType, r.answer.Body)
}

// writeInHalves sends the response in two halves, with a failpoint between them.
func (r *reply) writeInHalves(c echo.Context) error {
	body := r.answer.Body
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	if err := c.Blob(r.answer.Status, r.answer.ContentType, body[:len(body)/2]); err != nil {
		return err
	}
	c.Response().Flush()
	if err := failpoint.Hit("gateway.half_answer"); err != nil {
		panic(http.ErrAbortHandler) // closes the connection after the first half
	}
	_, err := c.Response().Write(body[len(body)/2:])
	return err
}

func (r *refusal) write(c echo.Context) error {
	if r.allow != "" {
		c.Response().Header().Set(echo.HeaderAllow, r.allow)
	}
	if r.challenge != "" {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, r.challenge)
	}
	if r.acceptEncoding != "" {
		c.Response().Header().Set("Accept-Encoding", r.acceptEncoding)
	}
	if r.status == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(1+rand.IntN(maxRetryAfter))) //nolint:gosec // jitter, not a secret
	}
	if r.bare {
		return c.NoContent(r.status)
	}
	return writeError(c, r.status, r.message)
}

// writeError responds with {"error": message}.
func writeError(c echo.Context, status int, message string) error {
	body, err := json.Marshal(struct {
		Error string `json:"error"`
	}{message})
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderXContentTypeOptions, "nosniff")
	return c.Blob(status, echo.MIMEApplicationJSON, body)
}

// hangUpOnUnreadBody closes the connection after the response, unless the request has no body. It
// must be called if the body was not read completely. Otherwise net/http would read up to 256 KiB
// more, at the sender's pace, before it sends the response.
func hangUpOnUnreadBody(c echo.Context) {
	if c.Request().ContentLength != 0 {
		hangUp(c)
	}
}

func hangUp(c echo.Context) { c.Response().Header().Set(echo.HeaderConnection, "close") }
