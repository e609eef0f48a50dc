package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed openapi.yaml
var openapi []byte

// Document describes the API as OpenAPI 3.1 does. What an order takes stands there and
// nowhere else.
type Document struct {
	text  []byte
	takes map[string]map[string]string
}

// description is what we read of the document ourselves.
type description struct {
	Paths map[string]struct {
		Post *struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Properties map[string]struct {
							Type string `yaml:"type"`
						} `yaml:"properties"`
					} `yaml:"schema"`
				} `yaml:"content"`
			} `yaml:"requestBody"` //nolint:tagliatelle // a word of OpenAPI
		} `yaml:"post"`
	} `yaml:"paths"`
}

// ReadDocument reads the document, for a console that is below this path, of this
// version.
func ReadDocument(base, version string) (*Document, error) {
	var described description
	if err := yaml.Unmarshal(openapi, &described); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	d := &Document{takes: map[string]map[string]string{}}
	for path, of := range described.Paths {
		if of.Post == nil {
			continue
		}
		fields := map[string]string{}
		for name, property := range of.Post.RequestBody.Content["application/json"].Schema.Properties {
			fields[name] = property.Type
		}
		d.takes[path] = fields
	}
	var whole map[string]any
	if err := yaml.Unmarshal(openapi, &whole); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	whole["servers"] = []map[string]string{{"url": base + "/"}}
	whole["info"].(map[string]any)["version"] = version
	var err error
	if d.text, err = json.Marshal(whole); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	return d, nil
}

// Takes are the fields of the order that a path of the API takes, by name, and what each
// is in JSON.
func (d *Document) Takes(path string) map[string]string { return d.takes[path] }

// ServeHTTP implements http.Handler.
func (d *Document) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(d.text)
}

// PathOf is the path of the document for a pattern of the console, like
// "GET /events/{source}/{id}".
func PathOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return "/api" + strings.TrimSuffix(path, "{$}")
}

var _ http.Handler = (*Document)(nil)
