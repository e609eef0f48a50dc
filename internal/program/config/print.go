package config

import (
	"bytes"
	"encoding"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// YAML returns the configuration in effect: with defaults, with <secret> in place of each secret,
// and with the names of the secret files.
func (c *Config) YAML() ([]byte, error) {
	text, err := yaml.Marshal(printer{files: c.origin.files}.value("", reflect.ValueOf(*c)))
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return bytes.ReplaceAll(text, []byte("${"), []byte("$${")), nil
}

// printer converts Go values to the form that they have in a file.
type printer struct {
	files map[string]string // see origin.files
	// omit reports whether to leave out the value at a path. If nil, nothing is left out.
	omit func(path string) bool
	// written contains the texts to print instead of values, by path: see origin.expanded.
	written map[string]string
}

// value returns the form of a value in the file, or nil if the file can omit the value.
func (p printer) value(path string, v reflect.Value) any {
	if text, written := p.written[path]; written {
		return text
	}
	switch given := v.Interface().(type) {
	case Secret:
		if _, inFile := p.files[join(path, "value")]; !inFile && given.NotBefore.IsZero() && given.NotAfter.IsZero() && given.Encoding == "" {
			return given.Value.String()
		}
	case Dedup:
		if len(given.Ignore) == 0 && given.Rule != "" {
			return given.Rule
		}
	case secret.Value:
		if given.IsZero() {
			return nil
		}
		return given.String()
	case time.Time:
		if given.IsZero() {
			return nil
		}
		return given.Format(time.RFC3339)
	case time.Duration:
		if given < 0 {
			return "off" // only a tolerance can be negative
		}
		if given > 0 {
			return FormatDuration(given)
		}
		return nil
	case url.URL:
		return given.String()
	case encoding.TextMarshaler:
		text, err := given.MarshalText()
		if err != nil || v.IsZero() {
			return nil
		}
		return string(text)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if inner := p.value(path, v.Elem()); inner != nil {
			return inner
		}
		return yaml.MapSlice{} // present but empty
	case reflect.Struct:
		return p.mapping(path, v)
	case reflect.Map:
		list := yaml.MapSlice{}
		for _, key := range slices.Sorted(maps.Keys(keysOf(v))) {
			at := join(path, key)
			if one := p.value(at, v.MapIndex(reflect.ValueOf(key))); one != nil {
				list = append(list, yaml.MapItem{Key: key, Value: one})
			}
		}
		return orNil(list)
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = p.value(path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
		return list
	default:
		if v.IsZero() {
			return nil
		}
		return v.Interface()
	}
}

func (p printer) mapping(path string, v reflect.Value) any {
	list := yaml.MapSlice{}
	for _, f := range fieldsOf(v.Type()) {
		at := join(path, f.Name)
		if f.File != "" || p.omit != nil && p.omit(at) {
			continue
		}
		if file, ok := p.files[at]; ok {
			list = append(list, yaml.MapItem{Key: fileKey(f.Name), Value: file})
		} else if one := p.value(at, v.FieldByIndex(f.Index)); one != nil {
			list = append(list, yaml.MapItem{Key: f.Name, Value: one})
		}
	}
	return orNil(list)
}

func orNil(list yaml.MapSlice) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func keysOf(v reflect.Value) map[string]bool {
	keys := map[string]bool{}
	for _, key := range v.MapKeys() {
		keys[key.String()] = true
	}
	return keys
}
