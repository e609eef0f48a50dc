package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
)

// answerTimeout is the value of Process.AnswerTimeout. Tests wait longer.
const answerTimeout = 3 * time.Second

// conclude checks the written files, and prints the next steps.
func (i *initial) conclude(ctx context.Context, files []firstrun.File, written *cli) error {
	var names []string
	for _, file := range files {
		names = append(names, file.Name)
	}
	fmt.Fprintf(i.Stdout, "wrote %s in %s; the secrets are in %s\n\n", strings.Join(names, ", "), safetext.Shown(i.dir), firstrun.Dotenv)
	migrated, err := i.check(ctx, written)
	if err != nil {
		return err
	}
	for _, name := range i.answers.Providers {
		if i.ask != nil && slices.Contains(i.ask.Shown, name) {
			continue
		}
		if err := i.printSender(name, i.answers.WebhookURL(name)); err != nil {
			return err
		}
	}
	i.section("next")
	for _, line := range i.next(migrated, files) {
		fmt.Fprintf(i.Stdout, "  %s\n", line)
	}
	return nil
}

// check runs the checks that can succeed already. If Hooklatch will run on this machine without a
// container, check also applies the migrations, provided that Postgres answers and the operator
// agrees.
func (i *initial) check(ctx context.Context, written *cli) (migrated bool, err error) {
	found := &checkup{cli: written}
	cfg := found.configuration()
	// The database of a container or a cluster has a name that this machine does not know.
	if i.answers.Target == firstrun.Binary || i.answers.Target == firstrun.Systemd {
		if err := answers(ctx, i.AnswerTimeout, i.answers.Database); err != nil {
			reason := err.Error()
			fmt.Fprintf(i.Stdout, "Postgres does not answer yet: start it, or correct DATABASE_URL in %s\n  %s\n\n",
				firstrun.Dotenv, safetext.Shown(strings.TrimSpace(reason[strings.LastIndexByte(reason, '\n')+1:])))
		} else if migrated, err = i.migrate(ctx, written); err != nil {
			return false, err
		} else if migrated {
			found.database(ctx, cfg)
		}
	}
	found.findings = slices.DeleteFunc(found.findings, func(f doctor.Finding) bool { return f.Level == doctor.OK && f.Check != "configuration" })
	return migrated, found.print()
}

// answers returns the reason why Postgres does not answer, as an error, or nil if it answers.
func answers(ctx context.Context, within time.Duration, url secret.Value) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	pool, err := openPool(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	return pool.Ping(ctx)
}

// migrate applies the migrations if the operator agrees, and reports whether the operator agreed.
func (i *initial) migrate(ctx context.Context, written *cli) (bool, error) {
	agreed := i.migrates
	if i.ask != nil {
		var err error
		if agreed, err = i.ask.Confirm(ctx, "Postgres answers. Create the tables of Hooklatch in its schema \"hooklatch\" now?"); err != nil {
			return false, err
		}
	}
	if !agreed {
		return false, nil
	}
	return true, written.withMigrator(ctx, func(m *schema.Migrator) error {
		steps, err := m.Up(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(i.Stdout, "%s done\n", counted(len(steps), "migration"))
		return err
	})
}

// printSender prints the steps to take at the sender.
func (c *cli) printSender(name, url string) error {
	d, err := catalog.Describe(name)
	if err != nil {
		return err
	}
	c.section("at " + d.Title)
	for n, step := range firstrun.Steps(d, url) {
		fmt.Fprintf(c.Stdout, "  %d. %s\n", n+1, wrapped(step, 5))
	}
	return nil
}

// dropIns is the folder of files that extend the unit.
const dropIns = "/etc/systemd/system/hooklatch.service.d"

// quoted returns the path of a file in the folder, quoted for a shell.
func (i *initial) quoted(name string) string { return safetext.Shell(filepath.Join(i.dir, name)) }

// loadDotenv returns the shell command that sets the variables in .env.
func (i *initial) loadDotenv() string {
	if i.dir == "." {
		return ". ./" + firstrun.Dotenv
	}
	return ". " + i.quoted(firstrun.Dotenv)
}

// installConfig returns the command that installs the configuration for the unit. It returns none
// if the configuration is the installed file.
func (i *initial) installConfig() []string {
	if path, err := filepath.Abs(filepath.Join(i.dir, i.name)); err == nil && path == config.InstalledPath {
		return nil
	}
	return []string{"sudo install -D -m 644 " + i.quoted(i.name) + " " + config.InstalledPath}
}

// installCredential returns the command that writes the value of a variable to the file of its
// systemd credential. One root shell reads .env and writes the file, because .env may belong to
// root.
func (i *initial) installCredential(variable string) string {
	return "sudo sh -c " + safetext.Shell(fmt.Sprintf(`%s; printf %%s "$%s" | install -m 600 /dev/stdin /etc/hooklatch/%s`, i.loadDotenv(), variable, firstrun.Credential(variable)))
}

// helm returns the command that applies the configuration to the release: verb is the command of
// Helm, with its flags.
func (i *initial) helm(verb string) string {
	return "{ echo config:; sed 's/^/  /' " + i.quoted(i.name) + "; } | helm " + verb + " webhooks CHART --values -   # CHART: the folder docs/kubernetes/chart of the repository"
}

// compose returns the beginning of every Compose command.
func (i *initial) compose() string { return "docker compose --file " + i.quoted(firstrun.ComposeFile) }

// next returns the commands that lead to the first event.
func (i *initial) next(migrated bool, files []firstrun.File) []string {
	send := i.command("send " + i.answers.Providers[0])
	switch i.answers.Target {
	case firstrun.Compose:
		lines := []string{i.compose() + " up --detach --wait", i.compose() + " exec server hooklatch send " + i.answers.Providers[0] + " --config /etc/hooklatch/hooklatch.yaml"}
		if i.answers.Version == "" {
			lines = slices.Insert(lines, 0, "docker build --tag "+firstrun.BuiltImage+" CLONE   # CLONE: your clone of the repository, because no released image contains this build")
		}
		return lines
	case firstrun.Kubernetes:
		return []string{
			"kubectl create secret generic --from-env-file=" + i.quoted(firstrun.Dotenv) + " hooklatch",
			i.helm("install"),
		}
	case firstrun.Systemd:
		lines := append(i.installConfig(), "sudo install -D -m 644 "+i.quoted("credentials.conf")+" "+dropIns+"/credentials.conf")
		for _, variable := range firstrun.Variables(files[1].Text) {
			lines = append(lines, i.installCredential(variable))
		}
		return append(lines, "sudo systemctl daemon-reload", "sudo systemctl enable --now hooklatch.socket hooklatch.service")
	}
	lines := []string{"set -a; " + i.loadDotenv() + "; set +a"}
	if !migrated {
		lines = append(lines, i.command("migrate up"))
	}
	return append(lines, i.command("serve"), send+"   # in another terminal, after the first line above")
}
