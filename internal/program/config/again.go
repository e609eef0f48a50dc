package config

import (
	"maps"
	"reflect"
	"slices"
)

// Again parses the original configuration text again, with the current contents of the files that
// it names. Errors: Problems.
func (c *Config) Again() (*Config, error) {
	return parseWith(c.origin.file, c.origin.text, c.origin.env, c.origin.deprecatedKeys)
}

// Files returns the paths of the secret and certificate files, as this process opens them.
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

// ChangedFiles returns the paths of the secrets whose files have different contents in another
// reading of the same configuration.
func (c *Config) ChangedFiles(other *Config) []string {
	var changed []string
	for _, path := range slices.Sorted(maps.Keys(other.origin.sums)) {
		if c.origin.sums[path] != other.origin.sums[path] {
			changed = append(changed, path)
		}
	}
	return changed
}

// SameButSecrets reports whether another configuration has the same destination, except for its
// secrets.
func (c *Config) SameButSecrets(other *Config, destination string) bool {
	shown := func(c *Config) any {
		p := printer{files: c.origin.files}
		return p.value(join("destinations", destination), reflect.ValueOf(c.Destinations[destination]))
	}
	return reflect.DeepEqual(shown(c), shown(other))
}
