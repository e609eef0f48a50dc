package provider

import "net/http"

// maxEcho bounds what an unsigned check may have us say, in bytes.
const maxEcho = 2048

// echoQuery answers with a parameter of the URL, as plain text. It returns nil
// when it is not there, and an error when it is nothing to say.
func echoQuery(r *Request, name string) (*Answer, error) {
	if r.URL == nil || !r.URL.Query().Has(name) {
		return nil, nil
	}
	text := r.URL.Query().Get(name)
	if text == "" || len(text) > maxEcho || !clean(text) {
		return nil, &EventError{Unreadable: true, Message: name + " in the URL is no challenge"}
	}
	return &Answer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte(text)}, nil
}
