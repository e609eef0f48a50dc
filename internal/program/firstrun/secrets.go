package firstrun

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Variables that do not belong to a sender.
const (
	databaseURL   = "DATABASE_URL"
	adminToken    = "HOOKLATCH_ADMIN_TOKEN"
	signingSecret = "APP_SIGNING_SECRET"
	appURL        = "APP_URL"
	superPassword = "POSTGRES_SUPERUSER_PASSWORD"
)

// OwnPassword is the variable of the password for the Postgres in compose.yaml.
const OwnPassword = "POSTGRES_PASSWORD"

func randomBytes() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return b
}

func randomHex() string { return hex.EncodeToString(randomBytes()) }

// RandomWhsec returns a secret in the Standard Webhooks format.
func RandomWhsec() string { return "whsec_" + base64.StdEncoding.EncodeToString(randomBytes()) }

// NewSecret returns a random secret in the provider's format, or an empty secret if only the sender
// can create one.
func NewSecret(d catalog.Description) secret.Value {
	for _, text := range []string{RandomWhsec(), randomHex(), "hooklatch:" + randomHex()} {
		if strings.HasPrefix(text, "whsec_") && !strings.Contains(d.About.Signing+strings.Join(d.About.Setup, " "), "whsec_") {
			continue
		}
		if one := secret.New(text); d.CheckSecret == nil || d.CheckSecret(one) == nil {
			return one
		}
	}
	return secret.Value{}
}

// secretOf returns the .env variable of a provider's secret. Its value is the given secret or, if
// that is empty, a random one. It returns an error if only the sender can create the secret. ok is
// false for a provider without secrets.
func secretOf(d catalog.Description, given secret.Value) (v variable, ok bool, err error) {
	if d.Keyless {
		return variable{}, false, nil
	}
	v = variable{name: catalog.SecretVariable(d.Name), value: given}
	if !given.IsZero() {
		return v, true, nil
	}
	if v.value = NewSecret(d); v.value.IsZero() {
		return variable{}, false, fmt.Errorf("%s: only the sender knows its secret: set %s in the environment first; `hooklatch providers %s` says where to find it", d.Title, v.name, d.Name)
	}
	v.comment = []string{d.Title + ": a random value, with which `hooklatch send` signs. Replace it with the sender's secret:"}
	for _, step := range Steps(d, "of the source") {
		if strings.Contains(strings.ToLower(step), "secret") {
			v.comment = append(v.comment, step)
		}
	}
	return v, true, nil
}

// KnownSecrets returns the known secrets of the senders, by variable. The function known returns
// the secret of a variable, or an empty secret if the secret is unknown. KnownSecrets returns an
// error for an unknown provider, and for a secret that cannot be used.
func KnownSecrets(providers []string, known func(variable string) secret.Value) (map[string]secret.Value, error) {
	secrets := map[string]secret.Value{}
	for _, name := range providers {
		if err := checkProvider(name); err != nil {
			return nil, err
		}
		d, err := catalog.Describe(name)
		if err != nil {
			return nil, err
		}
		variable := catalog.SecretVariable(name)
		one := known(variable)
		if d.Keyless || one.IsZero() {
			continue
		}
		if d.CheckSecret != nil {
			err = d.CheckSecret(one)
		}
		if err == nil {
			err = checkDotenv("it", one)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is set, and cannot be used: %w", variable, err)
		}
		secrets[variable] = one
	}
	return secrets, nil
}

// Steps returns the setup steps at the sender, with the URL to enter there.
func Steps(d catalog.Description, url string) []string {
	steps := make([]string, len(d.About.Setup))
	for i, step := range d.About.Setup {
		steps[i] = strings.ReplaceAll(step, "{url}", url)
	}
	return steps
}
