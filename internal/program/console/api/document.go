package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/hooklatch/hooklatch/outbox/find"
)

//go:embed openapi.yaml
var openapi []byte

// Document is the OpenAPI 3.1 document of the API. It is also the only definition of the fields
// that POST requests may have.
type Document struct {
	text  []byte
	takes map[string]map[string]string
}

// description is the part of the document that the console itself reads.
type description struct {
	Paths map[string]struct {
		Post *struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Properties map[string]struct {
							Type string `json:"type"`
						} `json:"properties"`
					} `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"` //nolint:tagliatelle // OpenAPI's name
		} `json:"post"`
	} `json:"paths"`
}

// template is the document without a console's details. Parsing the YAML takes far longer than the
// rest of ReadDocument, so all consoles of a process share the template.
type template struct {
	whole map[string]any // must not be changed
	takes map[string]map[string]string
}

var readTemplate = sync.OnceValues(func() (*template, error) {
	t := &template{takes: map[string]map[string]string{}}
	if err := yaml.Unmarshal(openapi, &t.whole); err != nil {
		return nil, err
	}
	text, err := json.Marshal(t.whole)
	if err != nil {
		return nil, err
	}
	var described description
	if err := json.Unmarshal(text, &described); err != nil {
		return nil, err
	}
	for path, of := range described.Paths {
		if of.Post == nil {
			continue
		}
		fields := map[string]string{}
		for name, property := range of.Post.RequestBody.Content["application/json"].Schema.Properties {
			fields[name] = property.Type
		}
		t.takes[path] = fields
	}
	return t, nil
})

// Console contains a console's details for its document.
type Console struct {
	Base    string // path of the console
	Version string
	// Filters are the filter fields of lists and of new bulk runs, by operation, such as
	// "get /api/events". They are added to the parameters in the document.
	Filters map[string][]find.Field
	// Words replace placeholders in the document, such as $verbs-of-effects.
	Words map[string][]string
}

// ReadDocument returns the document for a console.
func ReadDocument(of Console) (*Document, error) {
	t, err := readTemplate()
	if err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	info := maps.Clone(t.whole["info"].(map[string]any))
	info["version"] = of.Version
	whole := maps.Clone(t.whole)
	whole["info"] = info
	whole["servers"] = []map[string]string{{"url": of.Base + "/"}}
	paths := maps.Clone(t.whole["paths"].(map[string]any))
	for operation, fields := range of.Filters {
		method, path, _ := strings.Cut(operation, " ")
		methods := maps.Clone(paths[path].(map[string]any))
		asked := maps.Clone(methods[method].(map[string]any))
		parameters, _ := asked["parameters"].([]any)
		parameters = slices.Clone(parameters)
		for _, f := range fields {
			parameters = append(parameters, parameterOf(f))
		}
		asked["parameters"], methods[method], paths[path] = parameters, asked, methods
	}
	whole["paths"] = paths
	d := &Document{takes: t.takes}
	if d.text, err = json.Marshal(whole); err != nil {
		return nil, fmt.Errorf("encode openapi.yaml as JSON: %w", err)
	}
	for name, words := range of.Words {
		d.text = bytes.ReplaceAll(d.text, []byte(`["$`+name+`"]`), []byte(`["`+strings.Join(words, `","`)+`"]`))
		d.text = bytes.ReplaceAll(d.text, []byte("$"+name), []byte(strings.Join(words, ", ")))
	}
	return d, nil
}

// parameterOf returns the parameter for a filter field.
func parameterOf(f find.Field) map[string]any {
	described := "Only those " + strings.Replace(f.Help, "'", "", 2)
	schema := map[string]any{"type": "string"}
	switch {
	case f.Many:
		described += "; separate several with commas"
	case f.Words != nil:
		schema = map[string]any{"enum": f.Words}
	}
	if f.Former != "" {
		described += "; formerly named " + f.Former
	}
	p := map[string]any{"name": f.Name, "in": "query", "description": described, "schema": schema}
	if f.Hint != "" {
		p["example"] = f.Hint
	}
	return p
}

// Takes returns the fields that a POST to an API path accepts, with their JSON types.
func (d *Document) Takes(path string) map[string]string { return d.takes[path] }

// ServeHTTP implements http.Handler.
func (d *Document) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(d.text)
}

// PathOf returns the document's path for a console pattern, such as "GET /events/{source}/{id}".
func PathOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return "/api" + strings.TrimSuffix(path, "{$}")
}

var _ http.Handler = (*Document)(nil)
