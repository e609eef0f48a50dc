package proof

import (
	"net/http"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/payload"
)

// MaxEcho is the maximum length, in bytes, of a text that the response to an unsigned check
// repeats.
const MaxEcho = 2048

// EchoQuery responds with a URL parameter as plain text. It returns nil if the parameter is
// missing, and an error if its value may not be repeated.
func EchoQuery(r *provider.Request, name string) (*provider.Answer, error) {
	if r.URL == nil {
		return nil, nil
	}
	query := payload.ParseForm(r.URL.RawQuery)
	if !query.Has(name) {
		return nil, nil
	}
	text := query.Get(name)
	if text == "" || len(text) > MaxEcho || !Clean(text) {
		return nil, &provider.EventError{Unreadable: true, Message: name + " in the URL is not a challenge"}
	}
	return &provider.Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}, nil
}
