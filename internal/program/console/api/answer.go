// Package api speaks JSON to programs that call the console: answers, problems, the
// actions they request, and the OpenAPI document that describes them.
package api

import (
	"net/http"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

// Write answers with a value as JSON.
func Write(w http.ResponseWriter, status int, value any) error {
	return write(w, status, "application/json", value)
}

// Problem is an error as RFC 9457 has it, in the words that people are told.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Command looks into it, where there is one.
	Command string `json:"command,omitzero"`
	// RequestID is the one in the log. The listener has none for what it refuses itself.
	RequestID string `json:"request_id,omitzero"`
}

// WriteProblem answers with a problem.
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
	_, _ = w.Write(append(body, '\n')) // whoever is gone does not need it
	return nil
}
