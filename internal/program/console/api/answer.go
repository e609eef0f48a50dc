// Package api serves JSON to programs that call the console: responses, problems, the actions that
// programs request, and the OpenAPI document that describes them.
package api

import (
	"net/http"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

// ReadFrom is the response header that says which server was read, and how old its data is. A
// response has this header only if a standby is configured and may serve the response.
const ReadFrom = "Hooklatch-Read-From"

// Write responds with a value as JSON.
func Write(w http.ResponseWriter, status int, value any) error {
	return write(w, status, "application/json", value)
}

// Problem is an error as specified by RFC 9457, in the same words as the pages.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Command is a command that helps to find the cause. It is empty if there is none.
	Command string `json:"command,omitzero"`
	// RequestID is also in the log. It is empty for requests that the listener itself refuses.
	RequestID string `json:"request_id,omitzero"`
}

// WriteProblem responds with a problem.
func WriteProblem(w http.ResponseWriter, p Problem) error {
	return write(w, p.Status, "application/problem+json", p)
}

func write(w http.ResponseWriter, status int, contentType string, value any) error {
	body, err := plainjson.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // fails only if the client has disconnected
	return nil
}
