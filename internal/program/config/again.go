package config

import (
	"maps"
	"reflect"
	"slices"
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

// SameButSecrets reports whether a destination has the same settings in other, apart from its
// secrets.
func (c *Config) SameButSecrets(other *Config, destination string) bool {
	shown := func(c *Config) any {
		p := printer{files: c.origin.files}
		return p.value(join("destinations", destination), reflect.ValueOf(c.Destinations[destination]))
	}
	return reflect.DeepEqual(shown(c), shown(other))
}
