// Package config strictly reads Hooklatch's YAML file, and reports all mistakes together, with
// their positions.
package config

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/route"
)

// LookupEnv looks up an environment variable, as os.LookupEnv does.
type LookupEnv = func(name string) (string, bool)

// Config is the whole file. Parse and Load return it complete: expanded, checked, with the contents
// of every *_file and all defaults. YAML writes it with <secret> in place of each secret.
type Config struct {
	// The database that stores the events, the ledger and the jobs.
	Database Database `yaml:"database,omitempty"`
	// Further databases, by name. Each stores the events, the ledger and the jobs of the sources
	// that name it as their cell. If a database is unavailable, only its own sources are affected.
	// The section database is the cell main, which contains the sources without a cell. The rule
	// for names is the same as for sources. See docs/cells.md. Defaults to no further databases.
	Cells map[string]Database `yaml:"cells,omitempty"`
	// The listener that accepts deliveries.
	Gateway Gateway `yaml:"gateway,omitempty"`
	// The listener for operators and probes: console, API, metrics, health.
	Admin Admin `yaml:"admin,omitempty"`
	// Limits for the concurrent work of this process.
	Worker worker.Options `yaml:"worker,omitempty"`
	// Guarantees of the database after a failover.
	HA HA `yaml:"ha,omitempty"`
	// Time for which data is kept.
	Retention Retention `yaml:"retention,omitempty"`
	// The inbound endpoints by name: POST /webhooks/{name}. A name is 1 to 63
	// lower-case letters, digits, hyphens and underscores, and begins with a
	// letter or a digit.
	Sources map[string]Source `yaml:"sources,omitempty"`
	// The receivers of effects, by name. The rule for names is the same as for sources.
	Destinations map[string]Destination `yaml:"destinations,omitempty"`
	// Rules that map events to effects at destinations.
	Routes []route.Route `yaml:"routes,omitempty"`
	// Your own queries that find differences between your tables and the accepted
	// events. hooklatch check runs them, and workers run them every 10 minutes.
	Checks []agreement.Check `yaml:"checks,omitempty"`
	// Notifications about conditions that need attention.
	Alerts Alerts `yaml:"alerts,omitempty"`
	// If true, a gateway may run without sources, and a worker without routes. Such a process is
	// ready, and a reload may remove the last source or route. A worker without routes skips the
	// events of its sources, and without sources it leaves all events to other programs. A file
	// without sources or routes is usually incomplete. Defaults to false.
	AllowEmpty bool `yaml:"allow_empty,omitempty"`

	origin     *origin
	warnings   Problems
	deprecated Problems
	whole      *Config // configuration that InCell was called on; nil if InCell did not return this one
	cell       string  // cell that InCell selected; empty if InCell did not return this one
}

// origin records how the file gives the configuration: its text, the line of each path, and the
// secret files.
type origin struct {
	file  string
	lines map[string]int
	// files are the names of the secret files, by the path of the secret in the configuration.
	files map[string]string
	// sums are the checksums of the secret files, by the same path.
	sums map[string][sha256.Size]byte
	// expanded are the scalars with a reference to an environment variable, as written, by path.
	expanded map[string]string
	// secrets is true if the file itself contains a secret.
	secrets bool

	text           []byte
	env            LookupEnv
	deprecatedKeys []DeprecatedKey
}

// Load reads and parses the file at path. The file may contain deprecated keys from DeprecatedKeys
// and from more. Errors: Problems, or the error of reading the file.
func Load(path string, env LookupEnv, more ...DeprecatedKey) (*Config, error) {
	info, err := checkAccess(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	cfg, err := parseWith(path, data, env, slices.Concat(deprecatedKeys, more))
	if err != nil {
		return nil, err
	}
	if cfg.origin.secrets && readableByAll(info) {
		cfg.warnings = append(cfg.warnings, Problem{File: path, Message: "contains secrets, and " + readable(info)})
	}
	return cfg, nil
}

// Warnings returns a problem for each file with secrets that every user of the machine can read.
func (c *Config) Warnings() []Problem { return c.warnings }

// Parse parses data, the text of the file at the path name. Relative paths in the text, such as
// secrets_file, are relative to the directory of that file. Errors: Problems.
func Parse(name string, data []byte, env LookupEnv) (*Config, error) {
	return parseWith(name, data, env, deprecatedKeys)
}

// parseWith is like Parse, but with other deprecated keys.
func parseWith(name string, data []byte, env LookupEnv, deprecated []DeprecatedKey) (*Config, error) {
	cfg := &Config{origin: &origin{file: name, lines: map[string]int{}, files: map[string]string{}, sums: map[string][sha256.Size]byte{}, text: data, env: env, deprecatedKeys: deprecated}}
	d := newDecoder(cfg.origin, env)
	d.document(data, cfg)
	// The checks also run on a partly invalid file, so that all problems are reported together.
	// They skip values that already have a problem.
	cfg.fillIn()
	d.checkZeros(cfg)
	cfg.check(d)
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	cfg.warnings, cfg.deprecated, cfg.origin.expanded = d.warnings.sorted(), d.deprecated, d.expanded
	return cfg, nil
}

// Path returns the path of the configuration file.
func (c *Config) Path() string { return c.origin.file }

// Given reports whether the file sets the field at path, such as
// "destinations.app.retry_on".
func (c *Config) Given(path string) bool {
	_, given := c.origin.lines[path]
	return given
}

// File returns the path of a file that the configuration names. A relative path is relative to the
// configuration's directory.
func (c *Config) File(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.origin.file), name)
}

// Problem returns an error about the field at path, such as "routes[0].when", for checks in other
// packages. The error has the position of the field, or of the nearest enclosing field in the file.
func (c *Config) Problem(path, message string) error {
	return Problems{c.origin.problem(path, message)}
}

func (o *origin) problem(path, message string) Problem {
	return Problem{File: o.file, Line: o.line(path), Path: path, Message: message}
}

// line returns the line of path, or of the nearest enclosing path in the file.
func (o *origin) line(path string) int {
	for path != "" {
		if line, ok := o.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}
