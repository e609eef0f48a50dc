package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// documentPath is the path of the console's OpenAPI document. No tool returns the document, because
// the tools already describe the whole API.
const documentPath = "/api/openapi.json"

// document is the part of the console's OpenAPI document that tools are derived from.
type document struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]response
		Schemas    map[string]schema
	}
}

// operation is one operation of the API.
type operation struct {
	ID          string `json:"operationId"` //nolint:tagliatelle // OpenAPI's name
	Summary     string
	Description string
	Role        string `json:"x-role"` //nolint:tagliatelle // OpenAPI's name for extensions
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema fields }
	} `json:"requestBody"` //nolint:tagliatelle // OpenAPI's name
	Responses map[string]response

	method, path string
}

// fields are the fields of a request's body.
type fields struct {
	Properties map[string]schema
	Required   []string
}

// parameter is a parameter in a path or a query, or a reference to one.
type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Description string
	Required    bool
	Schema      schema
	Example     any
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]json.RawMessage
}

// schema is a JSON Schema.
type schema map[string]any

// readDocument parses the console's OpenAPI document.
func readDocument(text []byte) (*document, error) {
	d := &document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if !strings.HasPrefix(d.OpenAPI, "3.") || len(d.Paths) == 0 {
		return nil, errors.New("it is not an OpenAPI document")
	}
	return d, nil
}

// operations returns all operations with a result that a tool can return, in the order of their
// paths. It leaves out the OpenAPI document itself, and streams, which never end.
func (d *document) operations() ([]operation, error) {
	var list []operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		if path == documentPath {
			continue
		}
		var common []parameter
		if text, some := d.Paths[path]["parameters"]; some {
			if err := json.Unmarshal(text, &common); err != nil {
				return nil, fmt.Errorf("parameters of %s: %w", path, err)
			}
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			text, some := d.Paths[path][strings.ToLower(method)]
			if !some {
				continue
			}
			o := operation{method: method, path: path}
			err := json.Unmarshal(text, &o)
			if err == nil {
				o.Parameters, err = d.resolved(append(common, o.Parameters...))
			}
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if d.returns(o, "application/json") || d.returns(o, "application/octet-stream") {
				list = append(list, o)
			}
		}
	}
	return list, nil
}

// returns reports whether an operation's result has this content type.
func (d *document) returns(o operation, contentType string) bool {
	done := o.Responses["200"]
	if done.Ref != "" {
		done = d.Components.Responses[nameIn(done.Ref)]
	}
	_, is := done.Content[contentType]
	return is
}

// resolved replaces references with the parameters and schemas to which they refer. It returns an
// error if a parameter does not exist.
func (d *document) resolved(parameters []parameter) ([]parameter, error) {
	list := make([]parameter, 0, len(parameters))
	for _, p := range parameters {
		if ref := p.Ref; ref != "" {
			shared, known := d.Components.Parameters[nameIn(ref)]
			if !known {
				return nil, fmt.Errorf("%s does not exist", ref)
			}
			p = shared
		}
		if ref, is := p.Schema["$ref"].(string); is {
			p.Schema = d.Components.Schemas[nameIn(ref)]
		}
		list = append(list, p)
	}
	return list, nil
}

// nameIn returns the last part of a reference.
func nameIn(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
