package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// devSources returns the sources of the dev configuration, which are named like their providers.
func devSources() ([]catalog.Description, error) {
	var sources []catalog.Description
	for _, name := range DevSourceNames() {
		d, err := catalog.Describe(name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, d)
	}
	return sources, nil
}

// DevSourceNames returns the names of the sources of a dev configuration.
func DevSourceNames() []string {
	return []string{"stripe", "github", "shopify", "twilio", "slack", "standard-webhooks", "hmac"}
}

// DevDestination receives every event, except the example that matches no route. devMail sends
// receipts.
const (
	DevDestination = "app"
	devMail        = "mail"
)

// DevSettings are the values that differ between dev configurations.
type DevSettings struct {
	Secrets  map[string]secret.Value // by source
	Sign     secret.Value            // for requests to the receiver
	Database secret.Value
	Listen   string
	Admin    string
	Receiver string
	SMTP     string
	forward  string
	public   string // URL that senders call; if empty, the address in Listen
}

// ReadDevSettings reads the secrets of an earlier run and creates missing secrets, so that senders
// can keep using the secrets that they have.
func ReadDevSettings(path string, env config.LookupEnv) (*DevSettings, error) {
	settings := &DevSettings{Secrets: map[string]secret.Value{}}
	earlier := &config.Config{}
	if _, err := os.Stat(path); err == nil {
		if earlier, err = config.Load(path, env); err != nil {
			return nil, fmt.Errorf("%w\ndev rewrites this file at each start and keeps its secrets: correct it or remove it", err)
		}
	}
	sources, err := devSources()
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		settings.Secrets[s.Name] = firstrun.NewSecret(s)
		if kept := earlier.Sources[s.Name].Secrets; len(kept) > 0 {
			settings.Secrets[s.Name] = kept[0].Value
		}
	}
	settings.Sign = secret.New(firstrun.RandomWhsec())
	if d := earlier.Destinations[DevDestination]; d.HTTP != nil && d.HTTP.Sign != nil && len(d.HTTP.Sign.StandardWebhooks) > 0 {
		settings.Sign = d.HTTP.Sign.StandardWebhooks[0]
	}
	return settings, nil
}

// override sets secrets from the command line, given as NAME=VALUE.
func (s *DevSettings) override(given []string) error {
	secrets, err := givenSecrets(given, DevSourceNames())
	if err != nil {
		return err
	}
	maps.Copy(s.Secrets, secrets)
	return nil
}

// givenSecrets reads NAME=VALUE. Its errors never quote the value.
func givenSecrets(given, sources []string) (map[string]secret.Value, error) {
	secrets := map[string]secret.Value{}
	for i, one := range given {
		name, value, found := strings.Cut(one, "=")
		switch {
		case !found || value == "":
			return nil, misused("--secret number %d: it must be NAME=VALUE, such as stripe=whsec_...", i+1)
		case !slices.Contains(sources, name):
			return nil, misused("--secret %s=...: no source is named %q; the sources are %s", name, name, strings.Join(sources, ", "))
		}
		secrets[name] = secret.New(value)
	}
	return secrets, nil
}

// Write writes the file, readable only by its owner, and returns its configuration.
func (s *DevSettings) Write(path string, env config.LookupEnv) (*config.Config, error) {
	text, err := s.YAML()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Parse(path, []byte(text), env)
	if err != nil {
		return nil, err
	}
	files, err := openDevFiles(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(files.replace(filepath.Base(path), []byte(text), 0o600), files.Close()); err != nil {
		return nil, err
	}
	return cfg, nil
}

// YAML returns the configuration as text.
func (s *DevSettings) YAML() (string, error) {
	host, port, err := net.SplitHostPort(s.SMTP)
	if err != nil {
		return "", fmt.Errorf("address of the demo mail server: %w", err)
	}
	target, private := "http://"+s.Receiver+"/effects", ""
	// The examples need the demo receiver.
	skip, example, exampleRoute := "", "", ""
	if s.forward == "" {
		skip = fmt.Sprintf("\n    when: event.id != %q # an example of an event that matches no route", exampleSkipped)
		example = fmt.Sprintf(`
  # This receiver does not answer the first attempt of an effect. The effect is then parked until an operator retries it.
  %s:
    http:
      url: %s
      sign: {standard_webhooks: [%s]}
    policy: at_most_once`, devExample, scalar("http://"+s.Receiver+demo.UnansweredPath), scalar(s.Sign.Reveal()))
		exampleRoute = fmt.Sprintf(`
  - {name: unanswered, from: stripe, types: [charge.refunded], when: event.id == %q, to: %s}`, exampleParked, devExample)
	}
	if s.forward != "" {
		target = s.forward
		// --forward may name a host in the user's own network.
		private = "    allow_private: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8, \"::1\", \"fc00::/7\"]\n"
	}
	sources, err := devSources()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# The dev command rewrites this file at each start and keeps only the secrets.
# To edit it, copy it to ./hooklatch.yaml.

database:
  url: %s
gateway:
  listen: %s
  public_url: %s
admin:
  listen: %s
worker:
  keep_jobs: 24h # River UI also shows completed jobs

# Each source receives POST /webhooks/NAME.
sources:
`, scalar(s.Database.Reveal()), scalar(s.Listen), scalar(cmp.Or(s.public, "http://"+loopback.Reachable(s.Listen))), scalar(s.Admin))
	for _, source := range sources {
		b.WriteString(firstrun.Source(source, "  ", scalar(s.Secrets[source.Name].Reveal())))
	}
	fmt.Fprintf(&b, `
destinations:
  %s:
    http:
      url: %s
      sign: {standard_webhooks: [%s]}
%s    retry: {initial: 1s, max: 1m}
  %s:
    smtp: {host: %s, port: %s, from: Hooklatch <hooklatch@example.com>, tls: none}%s

routes:
  # Every event is forwarded to the app unchanged.
  - name: everything
    from: "*"%s
    to: %s
  # Each paid invoice also causes one email.
  - name: receipts
    from: stripe
    types: [invoice.paid]
    when: has(body.data) && has(body.data.object) && has(body.data.object.id) && has(body.data.object.customer_email)
    to: %s
    key: body.data.object.id
    email:
      recipient: body.data.object.customer_email
      subject: Receipt {{ .body.data.object.id }}
      text: Thank you. This mail was sent for event {{ .event.id }}.%s
`, DevDestination, scalar(target), scalar(s.Sign.Reveal()), private, devMail, scalar(host), port, example, skip, DevDestination, devMail, exampleRoute)
	return b.String(), nil
}

func scalar(text string) string { return firstrun.Scalar(text) }

func taken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
