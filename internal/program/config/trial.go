package config

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/hooklatch/hooklatch/worker/route"
)

// trialName is the file name in problems about a route that a user typed.
const trialName = "route"

// WithRoute returns the configuration with a single route, which a user typed: as a mapping, as a
// list with one route, or below routes. The positions of problems are lines of the text.
// Environment variables are not expanded, and secret files are not read, because a caller must not
// learn anything about them. Errors: Problems.
func (c *Config) WithRoute(text string) (*Config, error) {
	o := &origin{file: trialName, lines: map[string]int{}, files: map[string]string{}, deprecatedKeys: c.origin.deprecatedKeys}
	d := newDecoder(o, func(name string) (string, bool) { return "${" + name + "}", true })
	d.noAliases = true // a short text with aliases can stand for millions of values
	d.noFiles = true
	var wrapped struct {
		Routes []route.Route `yaml:"routes"`
	}
	target, path := reflect.ValueOf(&wrapped).Elem(), ""
	file, problems := ParseTree(trialName, text)
	if problems != nil {
		return nil, problems
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		d.reportf("", "is empty, or has several YAML documents; one route is expected")
		return nil, d.problems
	}
	body := file.Docs[0].Body
	ast.Walk(anchorCollector(d.anchors), file.Docs[0])
	switch body.(type) {
	case *ast.SequenceNode:
		target, path = target.FieldByName("Routes"), "routes"
	case *ast.MappingNode, *ast.MappingValueNode:
		if entries, ok := d.entries(body, ""); ok && (len(entries) != 1 || entries[0].key != "routes") {
			wrapped.Routes = make([]route.Route, 1)
			target, path = target.FieldByName("Routes").Index(0), "routes[0]"
		}
	}
	d.problems, o.lines = nil, map[string]int{} // discard the problems and lines recorded while reading the entries
	d.value(body, path, target, 0)
	trial := *c
	trial.origin, trial.Routes = o, wrapped.Routes
	switch n := len(trial.Routes); {
	case n == 1:
		trial.checkRoutes(d)
	case len(d.problems) == 0:
		d.reportf("", "has %d routes; one is expected", n)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	return &trial, nil
}
