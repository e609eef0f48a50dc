package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// DeprecatedKey is a former name of a key that accepts the same values. A file may contain the
// former name until a version removes it. From then on, the error about the name says what to write
// instead.
type DeprecatedKey struct {
	Path    string // such as "sources.*.largest_body": without indexes; * is any name
	Key     string // key to write instead, in the same mapping
	Since   string // version that deprecated the key
	Removed string // version that removed the key; empty if the key still applies
}

// deprecatedKeys lists the deprecated keys of all versions. There are none yet.
var deprecatedKeys []DeprecatedKey

// DeprecatedKeys returns the deprecated keys of all versions.
func DeprecatedKeys() []DeprecatedKey { return deprecatedKeys }

// Deprecated returns the deprecated keys in the file, and what to write instead.
func (c *Config) Deprecated() Problems { return c.deprecated }

var index = regexp.MustCompile(`\[\d+\]`)

// deprecated returns the deprecated key that matches a path, or nil.
func (o *origin) deprecated(at string) *DeprecatedKey {
	slashed := strings.NewReplacer(".", "/").Replace
	for _, k := range o.deprecatedKeys {
		if ok, err := path.Match(slashed(k.Path), slashed(index.ReplaceAllString(at, ""))); ok && err == nil {
			return &k
		}
	}
	return nil
}

// current returns the key to use for an entry. It reports a deprecated key that was removed, or
// that is given together with its current name; ok is then false.
func (d *decoder) current(at string, e entry, given []entry) (key string, ok bool) {
	k := d.origin.deprecated(join(at, e.key))
	if k == nil {
		return e.key, true
	}
	found := Problem{File: d.origin.file, Line: e.line, Path: join(at, e.key), Message: fmt.Sprintf("has been deprecated since version %s: write %s", k.Since, k.Key)}
	for _, other := range given {
		if other.key == k.Key {
			found.Message = fmt.Sprintf("is a deprecated name of %s, which line %d sets too: remove one of them", k.Key, other.line)
			d.problems = append(d.problems, found)
			return "", false
		}
	}
	if k.Removed != "" {
		found.Message = fmt.Sprintf("was deprecated in version %s and removed in %s: write %s", k.Since, k.Removed, k.Key)
		d.problems = append(d.problems, found)
		return "", false
	}
	d.deprecated = append(d.deprecated, found)
	d.origin.lines[join(at, k.Key)] = e.line
	return k.Key, true
}

// WithoutDeprecated returns the text of the file with every deprecated key replaced, and nothing
// else changed. It returns an error if a key must be replaced by hand, such as one whose name also
// occurs earlier in its line.
func (c *Config) WithoutDeprecated() ([]byte, error) {
	lines := strings.SplitAfter(string(c.origin.text), "\n")
	for _, found := range c.deprecated {
		line, name := &lines[found.Line-1], found.Path[strings.LastIndexByte(found.Path, '.')+1:]
		*line = strings.Replace(*line, name, c.origin.deprecated(found.Path).Key, 1)
	}
	text := []byte(strings.Join(lines, ""))
	// If the first match in a line was not the key, the file still contains the key.
	next, err := parseWith(c.origin.file, text, c.origin.env, c.origin.deprecatedKeys)
	if err == nil && len(next.deprecated) > 0 {
		err = next.deprecated
	}
	if err != nil {
		return nil, fmt.Errorf("replace the deprecated keys by hand: %w", err)
	}
	return text, nil
}
