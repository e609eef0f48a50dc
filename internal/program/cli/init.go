package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// initial is one invocation of the init command, or of init add.
type initial struct {
	*cli

	answers    firstrun.Answers
	target     string
	yes, force bool

	dir  string // directory to which init writes its files
	name string // name of the configuration file in dir
	// ask is nil if no questions are asked.
	ask *firstrun.Questions
	// migrates is true if a database is known or questions are asked. An init without questions
	// then applies the migrations; an init with questions asks first.
	migrates bool
}

func (c *cli) newInit() *cobra.Command {
	i := &initial{cli: c}
	var database string
	cmd := &cobra.Command{
		Use:   "init [PROVIDER...]",
		Short: "Write a first configuration, with its secrets in .env",
		Long: `Write hooklatch.yaml and .env for the senders that PROVIDER names, check them, and print
what to do next at each sender. The command asks at most five questions, then asks for
the secret of each sender, and asks before it creates tables. With --yes, or if standard
input is not a terminal, it asks nothing.

Secrets are written only to .env, which only you can read. If you omit a secret, the
command generates one: the send command works with it at once, and .env says where the
sender shows the real secret. If the environment has a value, such as
STRIPE_WEBHOOK_SECRET or DATABASE_URL, the command uses it.

--for says where Hooklatch will run. compose adds compose.yaml with a Postgres server,
systemd adds credentials.conf for the unit, and kubernetes writes .env for a Secret.`,
		Example: "  " + c.Name + " init stripe github --to http://localhost:3000/hooks\n" +
			"  " + c.Name + " init stripe --for compose --yes",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			i.answers.Providers = args
			i.answers.Database = secret.New(database)
			i.answers.Target = firstrun.Target(i.target)
			return i.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&i.answers.To, "to", "", "`URL` of your application, which receives the events (default http://localhost:3000/hooks)")
	flags.StringVar(&database, "database", "", "connection `URL` of Postgres (default $DATABASE_URL, then "+firstrun.DefaultDatabase+")")
	flags.StringVar(&i.answers.PublicURL, "public-url", "", "base `URL` that senders call, such as "+firstrun.PlaceholderURL)
	flags.StringVar(&i.target, "for", "", "`environment` in which Hooklatch will run: binary, compose, systemd or kubernetes (default binary)")
	flags.BoolVar(&i.yes, "yes", false, "ask nothing; apply migrations if a database is given")
	flags.BoolVar(&i.force, "force", false, "overwrite existing files, but keep the values in .env")
	completeFlag(cmd, "for", fixed(firstrun.Targets()...))
	cmd.AddCommand(c.newInitAdd())
	return cmd
}

func (i *initial) run(ctx context.Context) error {
	i.place()
	earlier, err := i.refuseExisting()
	if err != nil {
		return err
	}
	if !i.yes {
		i.ask = i.questions()
	}
	if i.ask != nil {
		if i.answers, err = i.ask.Choose(ctx, i.answers); err != nil {
			return err
		}
		if earlier, err = i.refuseExisting(); err != nil { // the chosen target may need more files
			return err
		}
	}
	if err := i.detect(firstrun.ReadDotenv(earlier)); err != nil {
		return err
	}
	if i.ask != nil {
		if i.answers, err = i.ask.Complete(ctx, i.answers); err != nil {
			return err
		}
		i.migrates = true
	}
	i.answers = i.answers.WithDefaults()
	if err := i.answers.Validate(); err != nil {
		return &usageError{err.Error()}
	}
	files, err := i.answers.Files(i.name, earlier)
	if err != nil {
		return err
	}
	written, done, err := i.commandsOf(files[1].Text)
	if err != nil {
		return err
	}
	defer done()
	if err := checkText(written.configPath, files[0].Text, written.Env); err != nil {
		return fmt.Errorf("nothing was written, because the configuration would have problems:\n%w", err)
	}
	if err := i.write(files); err != nil {
		return err
	}
	return i.conclude(ctx, files, written)
}

// place sets the folder and the name of the configuration.
func (i *initial) place() {
	i.dir, i.name = ".", config.DefaultPath
	if i.configPath != "" {
		i.dir, i.name = filepath.Split(i.configPath)
		i.dir = filepath.Clean(i.dir)
	}
}

// refuseExisting returns an error if a file exists that init would write, unless --force is set. A
// .env may exist, because the application may have one: its text is returned.
func (i *initial) refuseExisting() (dotenv string, err error) {
	for _, name := range append([]string{i.name}, firstrun.Others(i.answers.Target)...) {
		if _, err := os.Lstat(filepath.Join(i.dir, name)); err == nil && !i.force {
			return "", fmt.Errorf("%s exists: edit it, add a source to it with `%s`, or overwrite it with --force", filepath.Join(i.dir, name), i.command("init add PROVIDER"))
		}
	}
	return readDotenv(i.dir)
}

func readDotenv(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, firstrun.Dotenv))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the existing variables: %w", err)
	}
	return string(text), nil
}

// detect completes the answers with values from .env, or else from the environment. For Compose, it
// takes the database only from .env.
func (i *initial) detect(kept map[string]secret.Value) error {
	known := func(name string) secret.Value {
		if value := kept[name]; !value.IsZero() {
			return value
		}
		value, _ := i.Env(name)
		return secret.New(value)
	}
	const url = "DATABASE_URL"
	if given, there := i.answers.Database, kept[url]; !given.IsZero() && !there.IsZero() && given != there {
		return fmt.Errorf("%s defines another %s: remove that line, or omit --database", filepath.Join(i.dir, firstrun.Dotenv), url)
	}
	switch {
	case !i.answers.Database.IsZero():
	case i.answers.Target != firstrun.Compose:
		i.answers.Database = known(url)
	case kept[firstrun.OwnPassword].IsZero(): // otherwise, the URL names the Postgres in compose.yaml
		i.answers.Database = kept[url]
	}
	i.migrates = !i.answers.Database.IsZero()
	var err error
	i.answers.Given, err = firstrun.KnownSecrets(i.answers.Providers, known)
	i.answers.Version = i.releasedVersion()
	return err
}

// questions returns the questions for the terminal, or nil if standard input is not a terminal.
func (c *cli) questions() *firstrun.Questions {
	file, ok := c.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return &firstrun.Questions{In: file, Out: c.Stderr, Hidden: func(ctx context.Context) (string, error) { return readHidden(ctx, file) }}
}

// readHidden reads a line from a terminal without echo. After an interrupt, it restores the echo.
func readHidden(ctx context.Context, file *os.File) (string, error) {
	state, err := term.GetState(int(file.Fd()))
	if err != nil {
		return "", fmt.Errorf("read without echo: %w", err)
	}
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		text, err := term.ReadPassword(int(file.Fd()))
		read <- result{text, err}
	}()
	select {
	case r := <-read:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", fmt.Errorf("read without echo: %w", r.err)
		}
		return string(r.text), nil
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(int(file.Fd()), state))
	}
}

// releasedVersion returns the version of the image to run, or "" for a build that was not released.
func (i *initial) releasedVersion() string {
	if v := i.readBuild().Version; strings.HasPrefix(v, "v") && !strings.ContainsAny(v, "-+") {
		return v
	}
	return ""
}
