package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Again parses the configuration's original text again, and rereads the files that the text names.
// Errors: Problems.
func (c *Config) Again() (*Config, error) {
	return parseWith(c.origin.file, c.origin.text, c.origin.env, c.origin.deprecatedKeys)
}

// Files returns the sorted paths of the secret and certificate files. A relative path in the
// configuration is resolved against the configuration's directory.
func (c *Config) Files() []string {
	named := slices.Collect(maps.Values(c.origin.files))
	for _, pair := range []*KeyPair{c.Gateway.TLS, c.Admin.TLS} {
		if pair != nil {
			named = append(named, pair.CertFile, pair.KeyFile)
		}
	}
	files := make([]string, 0, len(named))
	for _, name := range named {
		files = append(files, c.File(name))
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// ChangedFiles returns the configuration paths, such as sources.stripe.secrets, of the secrets
// whose files had different contents when other was read. c and other are two readings of the same
// text.
func (c *Config) ChangedFiles(other *Config) []string {
	var changed []string
	for _, path := range slices.Sorted(maps.Keys(other.origin.sums)) {
		if c.origin.sums[path] != other.origin.sums[path] {
			changed = append(changed, path)
		}
	}
	return changed
}

// SameAt reports whether c and other have the same value at a path, such as sources.stripe.secrets.
func (c *Config) SameAt(other *Config, path string) bool {
	mine, theirs := valueAt(reflect.ValueOf(*c), "", path), valueAt(reflect.ValueOf(*other), "", path)
	return mine.IsValid() && theirs.IsValid() && reflect.DeepEqual(mine.Interface(), theirs.Interface())
}

// valueAt returns the value at path, or an invalid value if there is none. It searches v. The
// parameter at is the path of v itself.
func valueAt(v reflect.Value, at, path string) reflect.Value {
	rest, below := strings.CutPrefix(path, at)
	switch {
	case rest == "" && below:
		return v
	case !below || at != "" && rest[0] != '.' && rest[0] != '[':
		return reflect.Value{}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return valueAt(v.Elem(), at, path)
		}
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if found := valueAt(v.FieldByIndex(f.Index), join(at, f.Name), path); found.IsValid() && f.File == "" {
				return found
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if found := valueAt(v.MapIndex(key), join(at, key.String()), path); found.IsValid() {
				return found
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if found := valueAt(v.Index(i), at+"["+strconv.Itoa(i)+"]", path); found.IsValid() {
				return found
			}
		}
	default:
	}
	return reflect.Value{}
}

// WithSecrets returns a destination of c with the secrets that the destination has in other. In the
// section that says where and how the destination sends, such as http, only secrets may differ
// between c and other. If another setting differs, ok is false: the secrets may be meant for
// another receiver.
func (c *Config) WithSecrets(other *Config, destination string) (merged Destination, ok bool) {
	merged, next := c.Destinations[destination], other.Destinations[destination]
	shown := func(c *Config, d Destination) any {
		p := printer{files: c.origin.files}
		return p.value(join("destinations", destination), reflect.ValueOf(d))
	}
	former := shown(c, merged)
	merged.HTTP, merged.SMTP, merged.SQL, merged.NATS, merged.RabbitMQ = next.HTTP, next.SMTP, next.SQL, next.NATS, next.RabbitMQ
	return merged, reflect.DeepEqual(former, shown(other, merged))
}
