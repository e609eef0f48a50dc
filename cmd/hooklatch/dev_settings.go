package main

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/demo"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// devSource is a source in the dev configuration. Its name is the provider's.
type devSource struct {
	name    string
	options string        // further lines of YAML
	fresh   func() string // returns a new secret in the provider's format
}

func devSources() []devSource {
	return []devSource{
		{name: "stripe", fresh: func() string { return "whsec_" + rand.Text() }},
		{name: "github", fresh: randomHex},
		{name: "shopify", fresh: randomHex},
		{name: "twilio", fresh: randomHex},
		{name: "slack", fresh: randomHex},
		{name: "standard-webhooks", fresh: randomWhsec},
		{name: "hmac", fresh: randomHex, options: "    header: X-Signature\n    event_id: {pointer: /id}\n"},
	}
}

func devSourceNames() []string {
	var names []string
	for _, s := range devSources() {
		names = append(names, s.name)
	}
	return names
}

// devSecret returns a random secret in the format of a source's provider.
func devSecret(source string) secret.Value {
	sources := devSources()
	at := slices.IndexFunc(sources, func(s devSource) bool { return s.name == source })
	return secret.New(sources[at].fresh())
}

func randomHex() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// randomWhsec returns a random secret in the Standard Webhooks format.
func randomWhsec() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}

// devDestination receives every event. devMail sends receipts.
const (
	devDestination = "app"
	devMail        = "mail"
)

// devSettings are the values that differ between dev configurations.
type devSettings struct {
	secrets  map[string]secret.Value // by source
	sign     secret.Value            // for requests to the receiver
	database secret.Value
	listen   string
	admin    string
	receiver string
	smtp     string
	forward  string
	public   string // URL that senders call; if empty, listen's
}

// readDevSettings reads the secrets of an earlier run and creates missing secrets, so that senders
// can keep using the secrets that they have.
func readDevSettings(path string, env config.LookupEnv) (*devSettings, error) {
	settings := &devSettings{secrets: map[string]secret.Value{}}
	earlier := &config.Config{}
	if _, err := os.Stat(path); err == nil {
		if earlier, err = config.Load(path, env); err != nil {
			return nil, fmt.Errorf("%w\ndev rewrites this file at each start and keeps its secrets: correct it or remove it", err)
		}
	}
	for _, s := range devSources() {
		settings.secrets[s.name] = secret.New(s.fresh())
		if kept := earlier.Sources[s.name].Secrets; len(kept) > 0 {
			settings.secrets[s.name] = kept[0].Value
		}
	}
	settings.sign = secret.New(randomWhsec())
	if d := earlier.Destinations[devDestination]; d.HTTP != nil && d.HTTP.Sign != nil && len(d.HTTP.Sign.StandardWebhooks) > 0 {
		settings.sign = d.HTTP.Sign.StandardWebhooks[0]
	}
	return settings, nil
}

// override sets secrets from the command line, given as NAME=VALUE.
func (s *devSettings) override(given []string) error {
	secrets, err := givenSecrets(given, devSourceNames())
	if err != nil {
		return err
	}
	maps.Copy(s.secrets, secrets)
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

// write creates the file, readable only by its owner, and returns its configuration.
func (s *devSettings) write(path string, env config.LookupEnv) (*config.Config, error) {
	text, err := s.yaml()
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

func (s *devSettings) yaml() (string, error) {
	host, port, err := net.SplitHostPort(s.smtp)
	if err != nil {
		return "", fmt.Errorf("address of the demo mail server: %w", err)
	}
	target, private := "http://"+s.receiver+"/effects", ""
	// The examples need the demo receiver.
	skip, example, exampleRoute := "", "", ""
	if s.forward == "" {
		skip = fmt.Sprintf("\n    when: event.id != %q # an example of an event that no route matches", exampleSkipped)
		example = fmt.Sprintf(`
  # It does not answer the first attempt of an effect, which is then parked until an operator retries it.
  %s:
    http:
      url: %s
      sign: {standard_webhooks: [%s]}
    policy: at_most_once`, devExample, scalar("http://"+s.receiver+demo.UnansweredPath), scalar(s.sign.Reveal()))
		exampleRoute = fmt.Sprintf(`
  - {name: unanswered, from: stripe, types: [charge.refunded], when: event.id == %q, to: %s}`, exampleParked, devExample)
	}
	if s.forward != "" {
		target = s.forward
		// --forward may name a host in the user's own network.
		private = "    allow_private: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 127.0.0.0/8, \"::1\", \"fc00::/7\"]\n"
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

sources:
`, scalar(s.database.Reveal()), scalar(s.listen), scalar(cmp.Or(s.public, "http://"+reachable(s.listen))), scalar(s.admin))
	for _, source := range devSources() {
		fmt.Fprintf(&b, "  %s: # POST /webhooks/%s\n    provider: %s\n    secrets: [%s]\n%s", source.name, source.name, source.name, scalar(s.secrets[source.name].Reveal()), source.options)
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
  # Each paid invoice also sends one mail.
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
`, devDestination, scalar(target), scalar(s.sign.Reveal()), private, devMail, scalar(host), port, example, skip, devDestination, devMail, exampleRoute)
	return b.String(), nil
}

// scalar returns text as a YAML scalar without variable expansion.
func scalar(text string) string {
	return strconv.Quote(strings.ReplaceAll(text, "${", "$${"))
}

func taken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
