// Package config reads the YAML file of Hooklatch: strictly, with positions,
// and with every mistake reported at once.
package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hooklatch/hooklatch/internal/agreement"
	"github.com/hooklatch/hooklatch/worker"
	"github.com/hooklatch/hooklatch/worker/route"
)

// The places Find looks at when no file is named.
const (
	DefaultPath = "hooklatch.yaml"
	DevPath     = ".hooklatch/dev.yaml" // written by the dev command
)

// LookupEnv finds an environment variable, as os.LookupEnv does.
type LookupEnv = func(name string) (string, bool)

// Config is the whole file. Parse and Load return it complete: expanded,
// checked, with the secrets of every *_file read and every default filled in.
// It marshals back to YAML with <secret> in place of each secret.
type Config struct {
	// Where the events, the ledger and the jobs are stored.
	Database Database `yaml:"database,omitempty"`
	// The listener that takes deliveries.
	Gateway Gateway `yaml:"gateway,omitempty"`
	// The listener for people and probes: console, API, metrics, health.
	Admin Admin `yaml:"admin,omitempty"`
	// How much this process works on at once.
	Worker worker.Options `yaml:"worker,omitempty"`
	// What may be relied on when the database changes its server.
	HA HA `yaml:"ha,omitempty"`
	// How long things are kept.
	Retention Retention `yaml:"retention,omitempty"`
	// The inbound endpoints by name: POST /webhooks/{name}. A name is 1 to 63
	// lower-case letters, digits, hyphens and underscores, and begins with a
	// letter or a digit.
	Sources map[string]Source `yaml:"sources,omitempty"`
	// Where effects go, by name. A name follows the rule of sources.
	Destinations map[string]Destination `yaml:"destinations,omitempty"`
	// Which events lead to which effect at which destination.
	Routes []route.Route `yaml:"routes,omitempty"`
	// Queries of your own that find where your tables disagree with what was
	// accepted. hooklatch check runs them, and workers every 10 minutes.
	Checks []agreement.Check `yaml:"checks,omitempty"`
	// Who is told what needs a person, and how often.
	Alerts Alerts `yaml:"alerts,omitempty"`
	// true lets a gateway run without sources, and a worker without routes: it is ready,
	// and a reload may take the last one away. A file without them is most often
	// incomplete. Defaults to false.
	AllowEmpty bool `yaml:"allow_empty,omitempty"`

	origin    *origin
	warnings  Problems
	maxBodies map[string]int64 // of the sources
}

// origin remembers where each path of the file stood.
type origin struct {
	file  string
	lines map[string]int
	// files are the names of the files that secrets came from, by the paths of
	// the secrets.
	files map[string]string
	// sums are those of the texts of these files.
	sums map[string][sha256.Size]byte
	// secrets is true when a secret stands in the file itself.
	secrets bool

	text []byte
	env  LookupEnv
}

// Load reads and parses the file at path. Errors: Problems, or that of reading
// the file.
func Load(path string, env LookupEnv) (*Config, error) {
	info, err := checkAccess(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	cfg, err := Parse(path, data, env)
	if err != nil {
		return nil, err
	}
	if cfg.origin.secrets && readableByAll(info) {
		cfg.warnings = append(cfg.warnings, Problem{File: path, Message: "has secrets in it, and " + readable(info)})
	}
	return cfg, nil
}

// Warnings are what is allowed and seldom meant about the files themselves.
func (c *Config) Warnings() []Problem { return c.warnings }

// Parse parses the text of a file called name. Relative paths in it, of
// secrets_file and its like, start at the directory of name. Errors: Problems.
func Parse(name string, data []byte, env LookupEnv) (*Config, error) {
	cfg := &Config{origin: &origin{file: name, lines: map[string]int{}, files: map[string]string{}, sums: map[string][sha256.Size]byte{}, text: data, env: env}}
	d := newDecoder(cfg.origin, env)
	d.document(data, cfg)
	// Checks of a file that could not be understood would report what follows
	// from the first mistakes; those that remain meaningful run all the same.
	cfg.fillIn()
	cfg.check(d)
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	cfg.warnings = d.warnings.sorted()
	return cfg, nil
}

// Find names the configuration file: explicit when it is given, else
// ./hooklatch.yaml, else the one the dev command wrote. A file that was not named
// must be the user's own, or root's.
func Find(explicit string) (string, error) {
	if explicit != "" {
		if _, err := os.Stat(explicit); err != nil {
			return "", fmt.Errorf("find configuration: %w", err)
		}
		return explicit, nil
	}
	for _, path := range []string{DefaultPath, filepath.FromSlash(DevPath)} {
		if _, err := os.Stat(path); err == nil {
			if err := checkTrusted(path); err != nil {
				return "", fmt.Errorf("find configuration: %w", err)
			}
			return path, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find configuration: %w", err)
		}
	}
	return "", fmt.Errorf("find configuration: neither ./%s nor ./%s exists; name a file with --config", DefaultPath, DevPath)
}

// Path is the name of the file the configuration came from.
func (c *Config) Path() string { return c.origin.file }

// Given reports whether the file itself sets a field: path is like
// "destinations.app.retry_on".
func (c *Config) Given(path string) bool {
	_, given := c.origin.lines[path]
	return given
}

// File is how this process reaches a file that the configuration names: a
// relative path starts at the directory of the configuration.
func (c *Config) File(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.origin.file), name)
}

// Problem makes an error about a field of this configuration, for checks that
// are made elsewhere: path is like "routes[0].when". Its position is that of
// the field, or of the nearest one around it.
func (c *Config) Problem(path, message string) error {
	return Problems{c.origin.problem(path, message)}
}

func (o *origin) problem(path, message string) Problem {
	return Problem{File: o.file, Line: o.line(path), Path: path, Message: message}
}

// line is that of path, or of the nearest path around it that is in the file.
func (o *origin) line(path string) int {
	for path != "" {
		if line, ok := o.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}
