package upgrade

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Surface is the set of things on which users of a version rely. It contains commands and their
// flags, fields of JSON output, settings and their values, operations of the API, and metrics.
type Surface map[string]bool

// SurfaceOf reads the surface from the generated files of a source tree. Tests of that tree check
// that the files match its programs.
func SurfaceOf(tree string) (Surface, error) {
	s := Surface{}
	for _, part := range []struct {
		files string
		read  func(s Surface, name string, text []byte) error
	}{
		{"cmd/hooklatch/testdata/help/*.txt", Surface.help},
		{"cmd/hooklatch/testdata/json/*.json", Surface.output},
		{"docs/config.schema.json", Surface.settings},
		{"internal/program/console/api/openapi.yaml", Surface.operations},
		{"docs/telemetry.md", Surface.metrics},
	} {
		files, err := filepath.Glob(filepath.Join(tree, part.files))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("surface of %s: there is no %s", tree, part.files)
		}
		before := len(s)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("surface of %s: %w", tree, err)
			}
			name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			if err := part.read(s, name, text); err != nil {
				return nil, fmt.Errorf("surface of %s: %s: %w", tree, name, err)
			}
		}
		if len(s) == before {
			return nil, fmt.Errorf("surface of %s: %s has nothing that users rely on: its form has changed", tree, part.files)
		}
	}
	return s, nil
}

// Without returns the items of s that the next version's surface lacks, in order.
func (s Surface) Without(next Surface) (missing []string) {
	for _, one := range slices.Sorted(maps.Keys(s)) {
		if !next[one] {
			missing = append(missing, one)
		}
	}
	return missing
}

// flagged matches a flag in a help text.
var flagged = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[\w-]+)`)

// help adds a command and its flags.
func (s Surface) help(name string, text []byte) error {
	command := strings.ReplaceAll(name, "-", " ")
	s["command "+command] = true
	_, flags, _ := strings.Cut(string(text), "\nFlags:\n")
	for _, flag := range flagged.FindAllStringSubmatch(flags, -1) {
		s["flag "+command+" "+flag[1]] = true
	}
	return nil
}

// output adds the fields of a command's JSON.
func (s Surface) output(name string, text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	s.fields("json "+name, value)
	return nil
}

func (s Surface) fields(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			s[path+"."+key] = true
			s.fields(path+"."+key, inner)
		}
	case []any:
		for _, inner := range value {
			s.fields(path+"[]", inner)
		}
	}
}

// settings adds the keys of the configuration, and the values of keys that list their allowed
// values.
func (s Surface) settings(_ string, text []byte) error {
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	definitions, _ := schema["$defs"].(map[string]any)
	s.keys("setting ", schema, definitions, nil)
	return nil
}

// keys walks a JSON Schema. The parameter within lists the definitions that contain node, so that a
// recursive definition is not walked again.
func (s Surface) keys(path string, node any, definitions map[string]any, within []string) {
	if list, ok := node.([]any); ok { // the list of allOf, anyOf or oneOf
		for _, one := range list {
			s.keys(path, one, definitions, within)
		}
		return
	}
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := schema["$ref"].(string); ok {
		if name := strings.TrimPrefix(ref, "#/$defs/"); !slices.Contains(within, name) {
			s.keys(path, definitions[name], definitions, append(slices.Clip(within), name))
		}
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		for key, inner := range properties {
			s[path+key] = true
			s.keys(path+key+".", inner, definitions, within)
		}
	}
	if values, ok := schema["enum"].([]any); ok {
		for _, value := range values {
			s[fmt.Sprint(path, "= ", value)] = true
		}
	}
	s.keys(path+"*.", schema["additionalProperties"], definitions, within)
	s.keys(path, schema["items"], definitions, within)
	for _, several := range []string{"allOf", "anyOf", "oneOf"} {
		s.keys(path, schema[several], definitions, within)
	}
}

// operations adds the operations of the admin API.
func (s Surface) operations(_ string, text []byte) error {
	var api struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &api); err != nil {
		return err
	}
	for path, methods := range api.Paths {
		for method := range methods {
			s["operation "+strings.ToUpper(method)+" "+path] = true
		}
	}
	return nil
}

// named matches the name of a metric.
var named = regexp.MustCompile("`(hooklatch\\.[a-z_.]+)`")

// metrics adds the names of the metrics.
func (s Surface) metrics(_ string, text []byte) error {
	for _, metric := range named.FindAllSubmatch(text, -1) {
		s["metric "+string(metric[1])] = true
	}
	return nil
}
