package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"text/template"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Place holds the addresses of the processes that share a name and, if they need it, their
// configuration file.
type Place struct {
	stage *Stage

	Name    string
	Config  string // path of the file
	Gateway string // address that accepts events, host:port
	Admin   string // address of the admin listener
}

// Place creates a place with free addresses.
func (s *Stage) Place(name string) (*Place, error) {
	free, err := freeport.Addresses(2)
	if err != nil {
		return nil, err
	}
	return &Place{stage: s, Name: name, Config: filepath.Join(s.Dir, name+".yaml"), Gateway: free[0], Admin: free[1]}, nil
}

// Ready returns the URL that answers 200 when a program with an admin listener can do its work.
func (p *Place) Ready() string { return "http://" + p.Admin + "/readyz" }

// Write writes the configuration file from a template of text/template.
func (p *Place) Write(text string, data any) error {
	file, err := template.New(filepath.Base(p.Config)).Parse(text)
	if err != nil {
		return fmt.Errorf("parse the template of the configuration: %w", err)
	}
	var written bytes.Buffer
	if err := file.Execute(&written, data); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := os.WriteFile(p.Config, written.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// Settings returns the settings of a process at the place: its database, and the receivers
// that it calls.
func (p *Place) Settings(databaseURL string, to *receivers.Receivers) scenario.Settings {
	mail := to.MailAddr()
	return scenario.Settings{
		DatabaseURL: secret.New(databaseURL), GatewayListen: p.Gateway, AdminListen: p.Admin,
		ReceiverURL: to.URL(), MailHost: mail.Addr().String(), MailPort: int(mail.Port()),
	}
}

// Program creates a program at the place. Its output goes to a log file, unless DropLogs is set.
// Stage.Stop kills the program.
func (p *Place) Program(o programs.Options) (*programs.Program, error) {
	o.Name, o.History = p.Name, p.stage.History
	if o.Log == "" && !p.stage.opts.DropLogs {
		o.Log = filepath.Join(p.stage.Dir, p.Name+".log")
	}
	made, err := programs.New(o)
	if err != nil {
		return nil, err
	}
	p.stage.mu.Lock()
	p.stage.programs = append(p.stage.programs, made)
	first := len(p.stage.programs) == 1
	p.stage.mu.Unlock()
	if first {
		p.stage.OnStop("processes", func(context.Context) error { return p.stage.Kill() })
	}
	return made, nil
}

// End stops all processes gracefully and in parallel.
func (s *Stage) End(ctx context.Context) error {
	return s.each(func(p *programs.Program) error { return p.Stop(ctx) })
}

// Kill kills all processes, as a crash would.
func (s *Stage) Kill() error { return s.each((*programs.Program).Kill) }

func (s *Stage) each(do func(*programs.Program) error) error {
	s.mu.Lock()
	all := s.programs
	s.mu.Unlock()
	errs := make([]error, len(all))
	var ending sync.WaitGroup
	for i, p := range all {
		ending.Go(func() { errs[i] = do(p) })
	}
	ending.Wait()
	return errors.Join(errs...)
}
