package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// write writes files into the folder. Links in the folder cannot redirect a write to a file outside
// it.
func (i *initial) write(files []firstrun.File) error {
	if err := os.MkdirAll(i.dir, 0o755); err != nil { //nolint:gosec // the file of secrets has its own mode
		return fmt.Errorf("create %s: %w", i.dir, err)
	}
	return i.inFolder(func(folder *devFiles) error {
		for _, file := range files {
			if err := folder.replace(file.Name, []byte(file.Text), file.Mode); err != nil {
				return err
			}
		}
		return i.ignore(folder)
	})
}

// amendDotenv writes .env in place, or creates it.
func (i *initial) amendDotenv(text string) error {
	return i.inFolder(func(folder *devFiles) error {
		if err := folder.amend(firstrun.Dotenv, []byte(text), 0o600); err != nil {
			return err
		}
		return i.ignore(folder)
	})
}

func (i *initial) inFolder(write func(*devFiles) error) error {
	root, err := os.OpenRoot(i.dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", i.dir, err)
	}
	defer root.Close()
	return write(&devFiles{root})
}

// ignore keeps .env out of the repository, if the folder is in one.
func (i *initial) ignore(folder *devFiles) error {
	if !inRepository(i.dir) {
		return nil
	}
	const name = ".gitignore"
	text, err := folder.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep %s out of the repository: %w", firstrun.Dotenv, err)
	}
	lines := strings.Split(string(text), "\n")
	if slices.ContainsFunc(lines, func(line string) bool { return strings.TrimPrefix(strings.TrimSpace(line), "/") == firstrun.Dotenv }) {
		return nil
	}
	if len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
		text = append(text, '\n')
	}
	return folder.amend(name, append(text, firstrun.Dotenv+"\n"...), 0o644)
}

// inRepository reports whether dir or a folder above it is a Git repository.
func inRepository(dir string) bool {
	dir, err := filepath.Abs(dir)
	for err == nil {
		if _, found := os.Lstat(filepath.Join(dir, ".git")); found == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
	return false
}

// commandsOf returns a cli that reads the configuration which init writes, with the variables of
// an .env file. For systemd, that cli reads temporary copies of the secrets, which done
// removes.
func (i *initial) commandsOf(dotenv string) (c *cli, done func(), err error) {
	values := firstrun.ReadDotenv(dotenv)
	done = func() {}
	if i.answers.Target == firstrun.Systemd {
		// The configuration reads its secrets from the files that systemd will pass.
		dir, err := os.MkdirTemp("", "hooklatch-init-")
		if err != nil {
			return nil, nil, fmt.Errorf("check the configuration: %w", err)
		}
		done = func() { _ = os.RemoveAll(dir) }
		for name, value := range values {
			if err := os.WriteFile(filepath.Join(dir, firstrun.Credential(name)), []byte(value.Reveal()), 0o600); err != nil {
				done()
				return nil, nil, fmt.Errorf("check the configuration: %w", err)
			}
		}
		values["CREDENTIALS_DIRECTORY"] = secret.New(dir)
	}
	process := *i.Process
	process.Env = func(name string) (string, bool) {
		if value, ok := values[name]; ok {
			return value.Reveal(), true
		}
		return i.Env(name)
	}
	return &cli{Process: &process, configPath: filepath.Join(i.dir, i.name), logLevel: i.logLevel, logFormat: i.logFormat}, done, nil
}

// checkText checks a configuration's text before it is written.
func checkText(path, text string, env config.LookupEnv) error {
	cfg, err := config.Parse(path, []byte(text), env)
	if err != nil {
		return err
	}
	return app.CheckConfig(cfg)
}
