// Package firstrun creates the first configuration of an installation. It asks for values that it
// cannot determine, and renders the files for one way of running the program.
package firstrun

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Target is a way of running the program.
type Target string

// Values of Target.
const (
	Binary     Target = "binary"
	Compose    Target = "compose"
	Systemd    Target = "systemd"
	Kubernetes Target = "kubernetes"
)

// Targets lists all targets, the default first.
func Targets() []Target { return []Target{Binary, Compose, Systemd, Kubernetes} }

// Answers determine the files. Empty answers have defaults, except for Providers.
type Answers struct {
	Providers []string     // names of providers, which become the names of sources
	To        string       // URL of the application that receives the events
	Database  secret.Value // connection URL of Postgres
	PublicURL string       // base URL that senders call
	Target    Target
	// Given are secrets of senders, by variable. Missing secrets are generated if possible.
	Given map[string]secret.Value
	// Version is the released version of the program, for the image. If empty, the image is
	// BuiltImage.
	Version string
}

// PlaceholderURL replaces a public URL that is not known yet.
const PlaceholderURL = "https://hooks.example.com"

// WithDefaults returns the answers with the default of each empty answer.
func (a Answers) WithDefaults() Answers {
	if a.Target == "" {
		a.Target = Binary
	}
	if a.To == "" {
		a.To = DefaultTo(a.Target)
	}
	if a.PublicURL == "" {
		a.PublicURL = PlaceholderURL
	}
	if a.Database.IsZero() && a.Target != Compose { // compose.yaml runs its own Postgres
		a.Database = secret.New(DefaultDatabase)
	}
	return a
}

// DefaultDatabase is the connection URL of a Postgres on the same machine.
const DefaultDatabase = "postgres://localhost/hooklatch"

// DefaultTo returns the usual URL at which a process of the target reaches an application.
func DefaultTo(t Target) string {
	switch t {
	case Compose:
		return "http://host.docker.internal:3000/hooks"
	case Kubernetes:
		return "http://app:3000/hooks"
	}
	return "http://localhost:3000/hooks"
}

// Validate checks all answers except Given and Version. The program checks the answers again when
// it reads the rendered configuration.
func (a Answers) Validate() error {
	if len(a.Providers) == 0 {
		return errors.New("no provider is named: name the senders of your webhooks, such as stripe or github; `hooklatch providers` lists all providers")
	}
	for i, name := range a.Providers {
		if err := checkProvider(name); err != nil {
			return err
		}
		if slices.Contains(a.Providers[:i], name) {
			return fmt.Errorf("the provider %s is named twice: name it once, and add a second source to the file afterwards", name)
		}
	}
	if !slices.Contains(Targets(), a.Target) {
		return fmt.Errorf("target %q: it must be one of %s", a.Target, targetNames())
	}
	if err := CheckURL("the URL of your application", a.To); err != nil {
		return err
	}
	if err := CheckURL("the public URL", a.PublicURL); err != nil {
		return err
	}
	if public, _ := url.Parse(a.PublicURL); public.RawQuery != "" || strings.Contains(a.PublicURL, "#") {
		return fmt.Errorf("the public URL %q: it must not have a query or a fragment", a.PublicURL)
	}
	return checkDotenv("DATABASE_URL", a.Database)
}

func checkProvider(name string) error {
	if !slices.Contains(catalog.Names(), name) {
		return fmt.Errorf("no provider is named %q: `hooklatch providers` lists all providers; for other senders use hmac, token, basic or jwt", name)
	}
	return nil
}

func targetNames() string {
	names := make([]string, len(Targets()))
	for i, t := range Targets() {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// CheckURL refuses a text that is not the URL of an HTTP server. It also refuses a URL with a user
// name or a password, and a URL with characters that must be percent-encoded.
func CheckURL(what, text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s %q: it must be an http or https URL, such as https://app.example.com/hooks", what, text)
	case u.User != nil:
		return fmt.Errorf("%s has a user name or password: remove it, and set the header in the configuration afterwards", what)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r == 0x7f }):
		return fmt.Errorf("%s %q: spaces, quotes and backslashes must be percent-encoded", what, text)
	}
	return nil
}
