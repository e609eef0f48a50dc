package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// databaseFlag goes before DATABASE_URL, which goes before the configuration.
type databaseFlag struct {
	url    string
	warned bool // that the password can be seen
}

func (d *databaseFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&d.url, "database-url", "", "connection `URL` of Postgres (default $DATABASE_URL, then database.url of the configuration)")
}

// givenDatabase is what flag or environment say, or nothing.
func (c *cli) givenDatabase() secret.Value {
	if c.database.url != "" {
		c.warnOfPassword()
		return secret.New(c.database.url)
	}
	url, _ := c.env("DATABASE_URL")
	return secret.New(url)
}

// warnOfPassword says, once, that a password on a command line is no secret.
func (c *cli) warnOfPassword() {
	d := &c.database
	parsed, err := pgx.ParseConfig(d.url)
	if d.warned || err != nil || parsed.Password == "" || !strings.Contains(d.url, parsed.Password) {
		return // the password of another place, such as a PGPASSFILE
	}
	d.warned = true
	fmt.Fprintf(c.stderr, "%s: the password in --database-url can be read by every user of this machine in its list of processes; "+
		"set DATABASE_URL, or url_file under database in the configuration\n", c.name)
}

// loadConfig finds, reads and checks the configuration.
func (c *cli) loadConfig() (*config.Config, error) {
	path, err := config.Find(c.configPath)
	if err != nil {
		return nil, err
	}
	return config.Load(path, c.env)
}

// loadForDatabase is loadConfig for commands that ask it for the database only:
// where flag or environment name one, no file has to exist.
func (c *cli) loadForDatabase() (*config.Config, error) {
	if _, err := config.Find(c.configPath); err != nil && c.configPath == "" && !c.givenDatabase().IsZero() {
		cfg := config.Default()
		return &cfg, nil
	}
	return c.loadConfig()
}

// loadToRun is loadConfig for commands that put all of it into effect.
func (c *cli) loadToRun() (*config.Config, error) {
	cfg, err := c.loadConfig()
	if err != nil {
		return nil, err
	}
	return cfg, app.CheckConfig(cfg)
}

// sourceOf is the source of the configuration that a command names.
func sourceOf(cfg *config.Config, name string) (config.Source, error) {
	s, known := cfg.Sources[name]
	if !known {
		return s, fmt.Errorf("%s has no source %q; it has: %s", cfg.Path(), name, strings.Join(slices.Sorted(maps.Keys(cfg.Sources)), ", "))
	}
	return s, nil
}

// listenFlags override the addresses of the configuration.
type listenFlags struct{ gateway, admin string }

func (l *listenFlags) register(cmd *cobra.Command, kind serveKind) {
	if kind.gateway {
		cmd.Flags().StringVar(&l.gateway, "listen", "", "`address` of the gateway (default gateway.listen of the configuration)")
	}
	cmd.Flags().StringVar(&l.admin, "admin-listen", "", "`address` of the admin listener (default admin.listen of the configuration)")
}

// override puts the flags into effect.
func (l *listenFlags) override(cfg *config.Config) {
	if l.gateway != "" {
		cfg.Gateway.Listen = l.gateway
	}
	if l.admin != "" {
		if scheme, isDefault := strings.CutSuffix(cfg.Admin.ConsoleURL, cfg.Admin.Listen); isDefault {
			cfg.Admin.ConsoleURL = scheme + l.admin
		}
		cfg.Admin.Listen = l.admin
	}
}

// hints for an address that is taken.
const (
	gatewayHint = "choose another one with --listen, or set gateway.listen in the configuration"
	adminHint   = "choose another one with --admin-listen, or set admin.listen in the configuration"
)

// databaseOf is the connection of a command: flag, environment, configuration. It leads
// past a pooler.
func (c *cli) databaseOf(cfg *config.Config) secret.Value {
	if url := c.givenDatabase(); !url.IsZero() {
		return url
	}
	if direct := cfg.Database.DirectURL; !direct.IsZero() {
		return direct
	}
	return cfg.Database.URL
}

// wrongCount is the answer to a number that must be positive.
func wrongCount(flag string, n int) error {
	return misused("--%s %d: it must be at least 1", flag, n)
}

// checkRate refuses what is no number of things in a second.
func checkRate(rate float64, what string) error {
	if rate < 0 || math.IsNaN(rate) || math.IsInf(rate, 0) {
		return misused("--rate %g is not a number of %s in a second", rate, what)
	}
	return nil
}
