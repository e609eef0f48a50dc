package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Setting is a field of the file with its value as a line of text.
type Setting struct{ Field, Value string }

// RouteSettings returns the fields of a route, in the order of docs/configuration.md. A value that
// refers to an environment variable is returned as written, because the variable may be a secret.
func (c *Config) RouteSettings(at int) []Setting {
	path := "routes[" + strconv.Itoa(at) + "]"
	return c.settings(path, reflect.ValueOf(c.Routes[at]))
}

// DestinationSettings returns the fields of a destination with its defaults, in the form of
// RouteSettings. Secrets and the values of headers are <secret>. DestinationSettings removes the
// user, password, query and fragment from an http.url that refers to no environment variable.
func (c *Config) DestinationSettings(name string) []Setting {
	settings := c.settings(join("destinations", name), reflect.ValueOf(c.Destinations[name]))
	for i, s := range settings {
		if s.Field == "http.url" && !envReference.MatchString(s.Value) {
			settings[i].Value = withoutQuery(s.Value)
		}
	}
	return settings
}

// RouteText returns a route as YAML, with references to environment variables as written.
func (c *Config) RouteText(at int) string {
	path := "routes[" + strconv.Itoa(at) + "]"
	text, err := yaml.Marshal(printer{written: c.origin.expanded}.value(path, reflect.ValueOf(c.Routes[at])))
	if err != nil {
		panic(err) // marshalling texts, and lists and maps of texts, cannot fail
	}
	return string(text)
}

func (c *Config) settings(path string, v reflect.Value) []Setting {
	return settingsIn("", printer{files: c.origin.files, written: c.origin.expanded}.value(path, v))
}

func withoutQuery(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// settingsIn lists the fields of a printed setting whose values are not mappings, including the
// fields of nested mappings.
func settingsIn(path string, value any) []Setting {
	mapping, is := value.(yaml.MapSlice)
	switch {
	case value == nil:
		return nil
	case !is:
		return []Setting{{path, lineOf(value)}}
	case len(mapping) == 0 && path != "":
		return []Setting{{path, ""}}
	}
	var list []Setting
	for _, item := range mapping {
		if key, is := item.Key.(string); is {
			list = append(list, settingsIn(join(path, key), item.Value)...)
		}
	}
	return list
}

// lineOf formats a value of the file on one line.
func lineOf(value any) string {
	switch v := value.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = lineOf(one)
		}
		return strings.Join(parts, ", ")
	case yaml.MapSlice:
		var parts []string
		for _, s := range settingsIn("", v) {
			parts = append(parts, s.Field+": "+s.Value)
		}
		return strings.Join(parts, "; ")
	}
	return fmt.Sprint(value)
}
