package firstrun

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

//go:embed template/*.tmpl
var templates embed.FS

// Names of files in the folder of the configuration.
const (
	Dotenv          = ".env"
	ComposeFile     = "compose.yaml"
	credentialsFile = "credentials.conf"
)

// BuiltImage is the image that compose.yaml runs if Answers.Version is empty. The user builds it.
const BuiltImage = "hooklatch:built"

// Images that compose.yaml runs. Hooklatch's own image is given without its version.
const (
	ourImage      = "ghcr.io/hooklatch/hooklatch"
	postgresImage = "postgres:18.1"
)

// File is a file to write.
type File struct {
	Name string
	Text string
	Mode fs.FileMode
}

// Others returns the names of a target's files other than the configuration and .env.
func Others(t Target) []string {
	switch t {
	case Compose:
		return []string{ComposeFile}
	case Systemd:
		return []string{credentialsFile}
	}
	return nil
}

// Files renders the files of valid answers: the configuration first, under the name config, then
// .env, which contains all secrets, then other files. dotenv is the text of an existing .env file,
// or empty. Files keeps the variables in this text.
func (a Answers) Files(config, dotenv string) ([]File, error) {
	r := &rendering{Answers: a}
	text, err := r.config()
	if err != nil {
		return nil, err
	}
	for _, v := range r.variables {
		if err := checkDotenv(v.name, v.value); err != nil {
			return nil, err
		}
	}
	files := []File{
		{Name: config, Text: text, Mode: 0o644},
		{Name: Dotenv, Text: mergeDotenv(dotenv, r.variables, a.Target != Kubernetes), Mode: 0o600},
	}
	for _, name := range Others(a.Target) {
		if text, err = r.other(name); err != nil {
			return nil, err
		}
		files = append(files, File{Name: name, Text: text, Mode: 0o644})
	}
	return files, nil
}

// rendering collects the variables that the configuration refers to.
type rendering struct {
	Answers

	variables []variable
}

// Credential returns the name of the systemd credential that contains a variable's value.
func Credential(variable string) string {
	switch variable {
	case databaseURL:
		return "database-url" // the unit in the packages already loads database-url and admin-token
	case adminToken:
		return "admin-token"
	}
	return strings.ToLower(strings.ReplaceAll(variable, "_", "-"))
}

// LoadCredential returns the line of a unit that passes a variable's value.
func LoadCredential(variable string) string {
	return "LoadCredential=" + Credential(variable) + ":/etc/hooklatch/" + Credential(variable)
}

// refer adds a variable, and returns a configuration entry that sets the key to the variable's
// value. For systemd, the entry refers to the variable's credential.
func (r *rendering) refer(key string, v variable) string {
	r.variables = append(r.variables, v)
	if r.Target == Systemd {
		return fmt.Sprintf("%s_file: %s", key, strconv.Quote(CredentialsFolder+Credential(v.name)))
	}
	return key + ": " + Reference(v.name)
}

// CredentialsFolder is the folder of a unit's credentials, as the configuration writes it.
const CredentialsFolder = "${CREDENTIALS_DIRECTORY}/"

// forSecret is part of a comment in each configuration for Kubernetes. TargetOf recognises such a
// configuration by this text.
const forSecret = "for the Secret hooklatch"

// TargetOf returns the target of an existing configuration: Systemd, Kubernetes, or Binary for any
// other target.
func TargetOf(config string) Target {
	switch {
	case strings.Contains(config, CredentialsFolder):
		return Systemd
	case strings.Contains(config, forSecret):
		return Kubernetes
	}
	return Binary
}

// credential returns an entry for a list of secrets, which refers to a systemd credential.
func credential(variable string) string {
	return "{file: " + strconv.Quote(CredentialsFolder+Credential(variable)) + "}"
}

func (r *rendering) config() (string, error) {
	database := r.Database
	if database.IsZero() {
		password := randomHex()
		r.variables = []variable{
			{name: OwnPassword, value: secret.New(password), comment: []string{"Passwords of the Postgres in compose.yaml."}},
			{name: superPassword, value: secret.New(randomHex())},
		}
		database = secret.New("postgres://hooklatch:" + password + "@postgres:5432/hooklatch")
	}
	page := struct {
		Secrets, Database, PublicURL, AdminListen, AdminToken, Sources, To, Sign string
		Placeholder, Private, Migrates                                           bool
	}{
		Secrets:     "${NAME} is an environment variable: .env defines them all.",
		PublicURL:   Scalar(r.PublicURL),
		Placeholder: r.PublicURL == PlaceholderURL,
		AdminListen: "127.0.0.1:8081",
		Private:     r.Target == Compose || r.Target == Kubernetes,
		Migrates:    r.Target == Systemd,
	}
	if page.Private {
		page.AdminListen = ":8081"
	}
	switch r.Target {
	case Systemd:
		page.Secrets = "systemd passes the secrets as files: see credentials.conf."
	case Kubernetes:
		page.Secrets = "${NAME} is an environment variable: .env defines them all, " + forSecret + "."
	}
	page.Database = r.refer("url", variable{name: databaseURL, value: database})
	page.AdminToken = r.refer("token", variable{name: adminToken, value: secret.New(randomHex()), comment: []string{"The password of the console."}})
	page.Sign = "{" + r.refer("standard_webhooks", variable{
		name: signingSecret, value: secret.New(RandomWhsec()), comment: []string{"Your application verifies requests with this secret."},
	}) + "}"
	to, err := r.to()
	if err != nil {
		return "", err
	}
	page.To = to
	for _, name := range r.Providers {
		d, err := catalog.Describe(name)
		if err != nil {
			return "", err
		}
		source := ""
		v, ok, err := secretOf(d, r.Given[catalog.SecretVariable(name)])
		if err != nil {
			return "", err
		}
		if ok {
			r.variables = append(r.variables, v)
			source = Reference(v.name)
			if r.Target == Systemd {
				source = credential(v.name)
			}
		}
		page.Sources += Source(d, "  ", source)
	}
	return render("hooklatch.yaml", page)
}

// to returns the application's URL as YAML. A URL with a query may contain a secret, so it is
// stored in .env, and refused for systemd.
func (r *rendering) to() (string, error) {
	u, err := url.Parse(r.To)
	if err != nil {
		return "", fmt.Errorf("the URL of your application: %w", err)
	}
	if u.RawQuery == "" {
		return Scalar(r.To), nil
	}
	if r.Target == Systemd {
		return "", errors.New("the URL of your application has a query, which may contain a secret: give the URL without the query, and add a header to the configuration afterwards")
	}
	r.variables = append(r.variables, variable{name: appURL, value: secret.New(r.To)})
	return Reference(appURL), nil
}

// other renders another file of the target. It needs the variables that config collects.
func (r *rendering) other(name string) (string, error) {
	var names []string
	for _, v := range r.variables {
		if v.name != OwnPassword && v.name != superPassword {
			names = append(names, v.name)
		}
	}
	if name == credentialsFile {
		names = slices.DeleteFunc(names, func(one string) bool { return one == databaseURL || one == adminToken })
		for i, variable := range names {
			names[i] = LoadCredential(variable)
		}
		return render(name, names)
	}
	page := struct {
		Image, Postgres string
		Variables       []string
	}{Image: ourImage + ":" + strings.TrimPrefix(r.Version, "v"), Variables: names}
	if r.Version == "" {
		page.Image = BuiltImage
	}
	if r.Database.IsZero() {
		page.Postgres = postgresImage
	}
	return render(name, page)
}

func render(name string, page any) (string, error) {
	t, err := template.ParseFS(templates, "template/"+name+".tmpl")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return b.String(), nil
}

// Scalar returns text as a YAML scalar without variable expansion.
func Scalar(text string) string { return strconv.Quote(strings.ReplaceAll(text, "${", "$${")) }
