package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/rate"
	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// examples is the path of a file with every key, relative to the repository.
const examples = "internal/program/config/testdata/good.everything.yaml"

const opening = `# Configuration

This page lists every key of ` + "`hooklatch.yaml`" + `, with its default and an example. ` + "`go generate ./internal/program/...`" + ` writes
it from the structs into which the file is decoded. ` + "`hooklatch check`" + ` reports the errors in a file, with their lines.
Editors can use [config.schema.json](config.schema.json).

- A **duration** is a number with ms, s, m or h, or whole days with d: ` + "`30s`, `1h30m`, `90d`" + `.
- A **size** is a number of bytes, or one with B, kB, MB, GB, KiB, MiB or GiB: ` + "`512`, `900kB`, `1MiB`" + `.
- A **rate** is a number per second, minute or hour: ` + "`50/s`, `10/m`, `1000/h`" + `.
- A **network** is a prefix or a single address: ` + "`10.0.0.0/8`, `fd00::/8`, `192.0.2.7`" + `.
- A **secret** is text that is never printed.
- A single value may replace a list that has only this value.
- ` + "`${NAME}`" + ` in any text is replaced by the environment variable, and ` + "`$${`" + ` is a literal ` + "`${`" + `.
`

// page is the Markdown page under construction.
type page struct {
	docs    comments
	text    bytes.Buffer
	written map[reflect.Type]bool
}

func pageOf(docs comments) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, examples))
	if err != nil {
		return nil, err
	}
	var example any
	if err := yaml.Unmarshal(text, &example); err != nil {
		return nil, fmt.Errorf("%s: %w", examples, err)
	}
	p := &page{docs: docs, written: map[reflect.Type]bool{}}
	p.text.WriteString(opening)
	for _, f := range config.Fields(reflect.TypeFor[config.Config]()) {
		title := f.Name
		switch f.Type.Kind() {
		case reflect.Map:
			title += ".NAME"
		case reflect.Slice:
			title += "[]"
		}
		if structOf(f.Type) == nil {
			meaning, standard := split(docs.field(f))
			fmt.Fprintf(&p.text, "\n## %s\n\n%s (%s, default %s)\n", title, meaning, typeName(f), standard)
			continue
		}
		p.section(title, docs.field(f), structOf(f.Type), within([]any{example}, f.Name, f.Type.Kind() == reflect.Map))
	}
	return p.text.Bytes(), nil
}

// section describes one struct, and then the structs in it.
func (p *page) section(title, about string, t reflect.Type, given []any) {
	fmt.Fprintf(&p.text, "\n## %s\n\n%s\n\n", title, about)
	p.text.WriteString("| Key | Type | Default | Example | Meaning |\n|---|---|---|---|---|\n")
	var inner []config.Field
	for _, f := range config.Fields(t) {
		meaning, standard := split(p.docs.field(f))
		if nested := structOf(f.Type); nested != nil && f.File == "" {
			inner = append(inner, f)
		}
		fmt.Fprintf(&p.text, "| `%s` | %s | %s | %s | %s |\n", f.Name, typeName(f), cell(standard), exampleOf(f, within(given, f.Name, false)), cell(meaning))
	}
	for _, f := range inner {
		if t := structOf(f.Type); !p.written[t] {
			p.written[t] = true
			p.section(title+"."+f.Name, p.docs.field(f), t, within(given, f.Name, f.Type.Kind() == reflect.Map))
		}
	}
}

// split separates the default from the rest of a comment.
func split(comment string) (meaning, standard string) {
	for _, words := range []string{"Defaults to ", "Default: ", "Default "} {
		before, after, found := strings.Cut(comment, words)
		if found {
			standard, rest, _ := strings.Cut(after, ". ")
			return strings.TrimSpace(before + rest), strings.TrimSuffix(standard, ".")
		}
	}
	if rest, required := strings.CutSuffix(comment, " Required."); required {
		return rest, "required"
	}
	return comment, ""
}

// structOf returns the struct that a key contains directly, by name or in a list, or nil.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || len(config.Fields(t)) == 0 {
		return nil
	}
	return t
}

func typeName(f config.Field) string {
	if f.File != "" {
		return "text"
	}
	if refined, ok := refinements[f.Owner.Name()+"."+f.Go]; ok {
		if words, ok := refined["enum"].([]string); ok && len(words) < 10 {
			return "`" + strings.Join(words, "`, `") + "`"
		}
	}
	return nameOf(f.Type)
}

func nameOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[size.Bytes]():
		return "size"
	case reflect.TypeFor[rate.PerSecond]():
		return "rate"
	case reflect.TypeFor[netip.Prefix]():
		return "network"
	case reflect.TypeFor[config.Dedup]():
		return "`id`, `content` or a mapping"
	case reflect.TypeFor[secret.Value](), keyType:
		return "secret"
	case reflect.TypeFor[time.Time]():
		return "time"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nameOf(t.Elem())
	case reflect.Slice:
		return "list: " + nameOf(t.Elem())
	case reflect.Map:
		return "mapping: " + nameOf(t.Elem())
	case reflect.Struct:
		return "mapping"
	case reflect.Bool:
		return "true, false"
	case reflect.Int, reflect.Int64:
		return "number"
	default:
		return "text"
	}
}

// within returns the values that several mappings give for a key. If byName is true, each of these
// values is itself a mapping, and within returns its values, sorted by name. A list of mappings
// counts as its elements.
func within(given []any, key string, byName bool) []any {
	var found []any
	for _, one := range given {
		mapping, ok := one.(map[string]any)
		if !ok {
			continue
		}
		value, ok := mapping[key]
		switch list, isList := value.([]any); {
		case !ok:
		case byName:
			named, _ := value.(map[string]any)
			for _, name := range slices.Sorted(keys(named)) {
				found = append(found, named[name])
			}
		case isList && len(list) > 0 && isMapping(list[0]):
			found = append(found, list...)
		default:
			found = append(found, value)
		}
	}
	return found
}

func isMapping(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// exampleOf returns an example value of the key, on one line.
func exampleOf(f config.Field, given []any) string {
	if len(given) == 0 || isMapping(given[0]) && f.Type.Kind() != reflect.Map {
		return ""
	}
	if structOf(f.Type) != nil || strings.Contains(nameOf(f.Type), "secret") {
		return ""
	}
	text, err := yaml.MarshalWithOptions(given[0], yaml.Flow(true))
	if err != nil {
		return ""
	}
	return cell("`" + strings.TrimSpace(strings.ReplaceAll(string(text), "\n", " ")) + "`")
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
