package programs

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// Configuration is the configuration file of one process. It is safe for concurrent use.
type Configuration struct {
	path string

	mu       sync.Mutex
	settings scenario.Settings
}

// NewConfiguration writes the configuration of the scenario to path.
func NewConfiguration(path string, settings scenario.Settings) (*Configuration, error) {
	c := &Configuration{path: path, settings: settings}
	if err := c.change(func(*scenario.Settings) {}); err != nil {
		return nil, err
	}
	return c, nil
}

// Path returns the path of the file.
func (c *Configuration) Path() string { return c.path }

// Vary makes a change that a reload accepts and that no guarantee depends on. It also undoes
// Break.
func (c *Configuration) Vary() error {
	return c.change(func(s *scenario.Settings) {
		s.Variation++
		s.Broken = false
	})
}

// Break makes the file invalid, so that a reload must refuse it. No process starts with it:
// call Mend first.
func (c *Configuration) Break() error {
	return c.change(func(s *scenario.Settings) { s.Broken = true })
}

// Mend undoes Break.
func (c *Configuration) Mend() error {
	return c.change(func(s *scenario.Settings) { s.Broken = false })
}

// Deploy changes the file to the configuration of a deployment.
func (c *Configuration) Deploy(d scenario.Deployment) error {
	return c.change(func(s *scenario.Settings) { s.Deployment = d })
}

// Cut rewrites the file in place with only its first lines, like an editor or a copy that has not
// finished. The number of lines that it keeps is the parameter lines, modulo the number of lines of
// the whole file. Mend completes the file.
func (c *Configuration) Cut(lines int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := scenario.File(c.settings)
	if err != nil {
		return err
	}
	all := bytes.SplitAfter(text, []byte("\n"))
	if err := os.WriteFile(c.path, bytes.Join(all[:lines%len(all)], nil), 0o600); err != nil {
		return fmt.Errorf("cut configuration: %w", err)
	}
	return nil
}

// MendFor is like Mend, and also fits the file to the version of the process that is about to
// start. The previous version supports fewer keys.
func (c *Configuration) MendFor(previous bool) error {
	return c.change(func(s *scenario.Settings) { s.Broken, s.Previous = false, previous })
}

// change edits the settings and replaces the file atomically, so that no process reads half of it.
func (c *Configuration) change(edit func(*scenario.Settings)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit(&c.settings)
	text, err := scenario.File(c.settings)
	if err != nil {
		return err
	}
	next := c.path + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := os.Rename(next, c.path); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}
