package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
)

func (c *cli) newInitAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add PROVIDER",
		Short: "Add a source to the configuration",
		Long: `Add a source of PROVIDER to the configuration, and its secret to .env in the same
directory. All other lines and comments of both files stay as they are.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := &initial{cli: c}
			i.place()
			return i.add(cmd, args[0])
		},
	}
}

func (i *initial) add(cmd *cobra.Command, provider string) error {
	path := filepath.Join(i.dir, i.name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: write it with `%s`, or name another file with --config", path, i.command("init "+provider))
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if _, problems := config.ParseTree(path, string(text)); problems != nil {
		return problems
	}
	dotenv, err := readDotenv(i.dir)
	if err != nil {
		return err
	}
	i.answers.Providers = []string{provider}
	if err := i.detect(firstrun.ReadDotenv(dotenv)); err != nil {
		return err
	}
	variable := catalog.SecretVariable(provider)
	given := i.answers.Given[variable]
	d, err := catalog.Describe(provider)
	if err != nil {
		return err
	}
	if i.ask = i.questions(); i.ask != nil && given.IsZero() && !d.Keyless {
		if given, err = i.ask.Secret(cmd.Context(), d); err != nil {
			return err
		}
	}
	changed, newDotenv, err := firstrun.Addition{Provider: provider, Given: given}.Add(string(text), dotenv)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	i.answers.Target = firstrun.TargetOf(changed)
	written, done, err := i.commandsOf(newDotenv)
	if err != nil {
		return err
	}
	defer done()
	// A configuration may need variables that are set only where the program runs, so a file that
	// already has problems is changed too. In a file without problems, the change must not cause
	// one.
	if err := checkText(path, changed, written.Env); err != nil && checkText(path, string(text), written.Env) == nil {
		return fmt.Errorf("nothing was written, because the configuration would have problems:\n%w", err)
	}
	if newDotenv != dotenv {
		if err := i.amendDotenv(newDotenv); err != nil {
			return err
		}
	}
	// Writing in place keeps the file's owner and mode, and links to the file. The process that
	// reads the file may run as another user.
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil { //nolint:gosec // the operator names the file
		return fmt.Errorf("write the configuration: %w", err)
	}
	fmt.Fprintf(i.Stdout, "added the source %s to %s", provider, path)
	if newDotenv != dotenv {
		fmt.Fprintf(i.Stdout, ", and %s to %s", variable, filepath.Join(i.dir, firstrun.Dotenv))
	}
	fmt.Fprintln(i.Stdout)
	url := i.answers.WebhookURL(provider)
	if cfg, err := written.loadConfig(); err == nil {
		url = sourceURL(cfg, provider)
	}
	if err := i.printSender(provider, url); err != nil {
		return err
	}
	if d.Keyless {
		variable = ""
	}
	if next := i.nextOfAdded(variable); len(next) > 0 {
		i.section("next")
		for _, line := range next {
			fmt.Fprintf(i.Stdout, "  %s\n", line)
		}
	}
	return nil
}

// nextOfAdded returns the steps that bring an added source to a process that systemd, Compose or
// Kubernetes runs. .env alone does not reach such a process. variable is the variable of the
// source's secret, or empty for a source without one.
func (i *initial) nextOfAdded(variable string) (lines []string) {
	switch i.answers.Target {
	case firstrun.Systemd:
		restart := "sudo systemctl reload hooklatch"
		if variable != "" {
			lines = []string{
				i.installCredential(variable),
				fmt.Sprintf(`printf '[Service]\n%s\n' | sudo install -D -m 644 /dev/stdin %s/%s.conf`, firstrun.LoadCredential(variable), dropIns, firstrun.Credential(variable)),
				"sudo systemctl daemon-reload",
			}
			restart = "sudo systemctl restart hooklatch   # a reload does not pass new credentials"
		}
		return append(append(lines, i.installConfig()...), restart)
	case firstrun.Kubernetes:
		if variable != "" {
			lines = []string{"kubectl create secret generic --from-env-file=" + i.quoted(firstrun.Dotenv) + " --dry-run=client --output=yaml hooklatch | kubectl apply --filename=-"}
		}
		return append(lines, i.helm("upgrade --reset-then-reuse-values"))
	}
	if _, err := os.Stat(filepath.Join(i.dir, firstrun.ComposeFile)); err != nil {
		return nil
	}
	if variable == "" {
		return []string{i.compose() + " kill --signal HUP server"}
	}
	return []string{
		fmt.Sprintf("add to `environment` in %s: %s: ${%s:?set it in .env}", firstrun.ComposeFile, variable, variable),
		i.compose() + " up --detach --wait",
	}
}

// sourceURL returns the URL to enter at a source's sender.
func sourceURL(cfg *config.Config, source string) string {
	if own := cfg.Sources[source].PublicURL; own != "" {
		return own
	}
	return firstrun.Answers{PublicURL: cfg.Gateway.PublicURL}.WebhookURL(source)
}
