package firstrun_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const configName = "hooklatch.yaml"

// load reads the rendered configuration, with the variables or credentials of the rendered .env.
func load(t *testing.T, text, dotenv string) *config.Config {
	t.Helper()
	values := firstrun.ReadDotenv(dotenv)
	dir := t.TempDir()
	for name, value := range values {
		require.NoError(t, os.WriteFile(filepath.Join(dir, firstrun.Credential(name)), []byte(value.Reveal()), 0o600))
	}
	values["CREDENTIALS_DIRECTORY"] = secret.New(dir)
	cfg, err := config.Parse(configName, []byte(text), func(name string) (string, bool) {
		value, ok := values[name]
		return value.Reveal(), ok
	})
	require.NoError(t, err, text)
	return cfg
}

// ofSender lists the providers whose secrets only the senders can create.
var ofSender = []string{"aws-sns", "paypal", "sendgrid"}

// Every provider has a source that the configuration accepts, and no file but .env has a secret.
func TestEveryProviderAndTargetIsAccepted(t *testing.T) {
	t.Parallel()
	for _, target := range firstrun.Targets() {
		for _, name := range catalog.Names() {
			answers := firstrun.Answers{Providers: []string{name}, Target: target}.WithDefaults()
			require.NoError(t, answers.Validate())
			files, err := answers.Files(configName, "")
			if slices.Contains(ofSender, name) {
				require.ErrorContains(t, err, catalog.SecretVariable(name)+" in the environment")
				continue
			}
			require.NoError(t, err, name)
			cfg := load(t, files[0].Text, files[1].Text)
			require.Equal(t, []string{name}, slices.Collect(maps.Keys(cfg.Sources)))
			require.Equal(t, answers.To, cfg.Destinations["app"].HTTP.URL)
			require.Less(t, strings.Count(files[0].Text, "\n"), 40)
			for _, file := range files {
				if file.Name == firstrun.Dotenv {
					require.EqualValues(t, 0o600, file.Mode)
					continue
				}
				for variable, value := range firstrun.ReadDotenv(files[1].Text) {
					require.NotContains(t, file.Text, value.Reveal(), "%s has %s", file.Name, variable)
				}
			}
		}
	}
}

func TestURLsArriveAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	for _, to := range []string{
		"http://localhost:3000/hooks", "https://app.example.com/a%20b", "http://[::1]:1/x", "https://h/${HOME}", "https://h/x?token=a&b=${c}", "https://h/{x},y:z",
		"https://h/`*!", "https://h/%27",
	} {
		answers := firstrun.Answers{Providers: []string{"stripe"}, To: to}.WithDefaults()
		require.NoError(t, answers.Validate())
		files, err := answers.Files(configName, "")
		require.NoError(t, err)
		require.Equal(t, to, load(t, files[0].Text, files[1].Text).Destinations["app"].HTTP.URL)
	}
	for _, to := range []string{"javascript:alert(1)", "ftp://h/x", "http://", "http://a b", "http://h/x\nsources: {}", "http://u:secret@h/", "http://h/\"x", "http://h/'", `http://h/\`, "h", "http://h/\x7f"} {
		answers := firstrun.Answers{Providers: []string{"stripe"}, To: to}.WithDefaults()
		err := answers.Validate()
		require.Error(t, err, to)
		require.NotContains(t, err.Error(), "secret@")
		require.Error(t, firstrun.Answers{Providers: []string{"stripe"}, PublicURL: to}.WithDefaults().Validate(), to)
	}
	require.Error(t, firstrun.Answers{Providers: []string{"stripe"}, Database: secret.New("postgres://h/'; echo")}.WithDefaults().Validate())
}

func TestDotenvKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	const earlier = "# mine\nDATABASE_URL='postgres://mine/app?a=b&c=d'\nRAILS_ENV=production"
	answers := firstrun.Answers{Providers: []string{"github"}, Database: secret.New("postgres://mine/app?a=b&c=d")}.WithDefaults()
	files, err := answers.Files(configName, earlier)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(files[1].Text, earlier+"\n"))
	require.Equal(t, 1, strings.Count(files[1].Text, "DATABASE_URL="))
	require.Equal(t, "postgres://mine/app?a=b&c=d", load(t, files[0].Text, files[1].Text).Database.URL.Reveal())
	again, err := answers.Files(configName, files[1].Text)
	require.NoError(t, err)
	require.Equal(t, files[1].Text, again[1].Text)
}

func TestAddChangesNoOtherLine(t *testing.T) {
	t.Parallel()
	answers := firstrun.Answers{Providers: []string{"stripe", "github"}}.WithDefaults()
	files, err := answers.Files(configName, "")
	require.NoError(t, err)
	commented := strings.Replace(files[0].Text, "  stripe:\n", "\n  # our shop\n  stripe: # live\n", 1)
	for name, before := range map[string]string{
		"comments": commented, "indent": strings.ReplaceAll(commented, "\n  ", "\n    "), "no newline": strings.TrimRight(commented, "\n"),
	} {
		after, dotenv, err := firstrun.Addition{Provider: "slack"}.Add(before, files[1].Text)
		require.NoError(t, err, name)
		var rest []string
		for line := range strings.Lines(after) {
			if !strings.Contains(line, "slack") && !strings.Contains(line, "SLACK") {
				rest = append(rest, line)
			}
		}
		require.Equal(t, before, strings.Join(rest, ""), name)
		cfg := load(t, after, dotenv)
		require.Len(t, cfg.Sources, 3, name)
		_, _, err = firstrun.Addition{Provider: "slack"}.Add(after, dotenv)
		require.ErrorContains(t, err, `has a source "slack"`)
	}
	// The configuration allows unquoted references inside braces and brackets.
	unquoted := "database: {url: ${DATABASE_URL}}\nsources:\n  stripe: {provider: stripe, secrets: [${STRIPE_WEBHOOK_SECRET}]}\n"
	after, dotenv, err := firstrun.Addition{Provider: "slack"}.Add(unquoted, files[1].Text)
	require.NoError(t, err)
	require.Len(t, load(t, after, dotenv).Sources, 2)
	_, _, err = firstrun.Addition{Provider: "slack"}.Add("admin: {token: canary\nsources: [\n", "")
	require.ErrorContains(t, err, "the configuration:")
	require.NotContains(t, err.Error(), "canary")
	added, _, err := firstrun.Addition{Provider: "slack"}.Add("database: {url: x}", "")
	require.NoError(t, err)
	require.Contains(t, added, "database: {url: x}\n\nsources:\n  slack:\n")
	for _, text := range []string{"sources: {stripe: {provider: stripe}}\n", "sources:\n", "- a\n"} {
		_, _, err = firstrun.Addition{Provider: "slack"}.Add(text, "")
		require.ErrorIs(t, err, firstrun.ErrByHand, text)
	}
}

// kubectl reads quotes in .env as part of the value.
func TestAddWritesDotenvForItsReader(t *testing.T) {
	t.Parallel()
	const given = "a secret with spaces!"
	for target, want := range map[firstrun.Target]string{firstrun.Kubernetes: given, firstrun.Systemd: "'" + given + "'", firstrun.Binary: "'" + given + "'"} {
		files, err := firstrun.Answers{Providers: []string{"stripe"}, Target: target}.WithDefaults().Files(configName, "")
		require.NoError(t, err)
		require.Equal(t, target, firstrun.TargetOf(files[0].Text))
		_, dotenv, err := firstrun.Addition{Provider: "hmac", Given: secret.New(given)}.Add(files[0].Text, files[1].Text)
		require.NoError(t, err)
		require.Contains(t, dotenv, "\nHMAC_WEBHOOK_SECRET="+want+"\n")
	}
}

// The questions give the same answers as the flags.
func TestQuestionsLeadToTheSameAnswers(t *testing.T) {
	t.Parallel()
	hidden := []string{"sk_live_0123456789abcdef", "whsec_0123456789abcdefghijklmn", ""}
	var out bytes.Buffer
	questions := &firstrun.Questions{
		In:  strings.NewReader("stripes\nstripe, github\n\nhttp://app:1/x\npostgres://h/d\nhttps://h.example.com\nmaybe\nno\n"),
		Out: &out,
		Hidden: func(context.Context) (string, error) {
			one := hidden[0]
			hidden = hidden[1:]
			return one, nil
		},
	}
	answers, err := questions.Complete(t.Context(), firstrun.Answers{})
	require.NoError(t, err)
	require.Equal(t, firstrun.Answers{
		Providers: []string{"stripe", "github"}, To: "http://app:1/x", Database: secret.New("postgres://h/d"), PublicURL: "https://h.example.com", Target: firstrun.Binary,
		Given: map[string]secret.Value{"STRIPE_WEBHOOK_SECRET": secret.New("whsec_0123456789abcdefghijklmn"), "GITHUB_WEBHOOK_SECRET": {}},
	}, answers)
	require.Contains(t, out.String(), `no provider is named "stripes"`)
	require.Contains(t, out.String(), "is a Stripe API key")
	require.Contains(t, out.String(), "https://h.example.com/webhooks/stripe")
	require.NotContains(t, out.String(), "sk_live_0123456789abcdef")
	agreed, err := questions.Confirm(t.Context(), "Now?")
	require.NoError(t, err)
	require.False(t, agreed)
	_, err = questions.Confirm(t.Context(), "Now?")
	require.ErrorContains(t, err, "EOF")

	// No question is asked if its answer is given.
	_, err = (&firstrun.Questions{In: strings.NewReader(""), Out: &out}).Complete(t.Context(), firstrun.Answers{
		Providers: []string{"jwt"}, To: "http://a", Database: secret.New("x"), PublicURL: "http://b", Target: firstrun.Binary,
	})
	require.NoError(t, err)
}

// The question for a secret offers to postpone the answer if a random secret can replace it, and
// not if only the sender can create the secret.
func TestEnterPostponesASecretWhereThatIsOffered(t *testing.T) {
	t.Parallel()
	for _, name := range catalog.Names() {
		d, err := catalog.Describe(name)
		require.NoError(t, err)
		if d.Keyless {
			continue
		}
		var shown bytes.Buffer
		q := firstrun.Questions{Out: &shown, Hidden: func(context.Context) (string, error) { return "", nil }}
		_, err = q.Secret(t.Context(), d)
		offered := strings.Contains(shown.String(), "(Enter: later)")
		require.Equal(t, offered, err == nil, "%s: %v", name, err)
		if err != nil {
			require.NotContains(t, err.Error(), "press Enter", name)
		}
		require.Equal(t, slices.Contains(ofSender, name), !offered, name)
	}
}
