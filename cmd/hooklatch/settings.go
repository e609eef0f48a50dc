package main

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/app"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
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

// given is what flag or environment say, or nothing.
func (d *databaseFlag) given(p *process) secret.Value {
	if d.url != "" {
		d.warn(p)
		return secret.New(d.url)
	}
	url, _ := p.env("DATABASE_URL")
	return secret.New(url)
}

// warn says, once, that a password on a command line is nobody's secret.
func (d *databaseFlag) warn(p *process) {
	parsed, err := pgx.ParseConfig(d.url)
	if d.warned || err != nil || parsed.Password == "" || !strings.Contains(d.url, parsed.Password) {
		return // the password of another place, such as a PGPASSFILE
	}
	d.warned = true
	fmt.Fprintf(p.stderr, "%s: the password in --database-url can be read by every user of this machine in its list of processes; "+
		"set DATABASE_URL, or url_file under database in the configuration\n", p.name)
}

// loadConfig finds, reads and checks the configuration.
func (g *globals) loadConfig(p *process) (*config.Config, error) {
	path, err := config.Find(g.configPath)
	if err != nil {
		return nil, err
	}
	return config.Load(path, p.env)
}

// loadForDatabase is loadConfig for commands that ask it for the database only:
// where flag or environment name one, no file has to exist.
func (g *globals) loadForDatabase(p *process, d *databaseFlag) (*config.Config, error) {
	if _, err := config.Find(g.configPath); err != nil && g.configPath == "" && !d.given(p).IsZero() {
		cfg := config.Default()
		return &cfg, nil
	}
	return g.loadConfig(p)
}

// loadToRun is loadConfig for commands that put all of it into effect.
func (g *globals) loadToRun(p *process) (*config.Config, error) {
	cfg, err := g.loadConfig(p)
	if err != nil {
		return nil, err
	}
	return cfg, app.CheckConfig(cfg)
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

// databaseOf is the connection of a command: flag, environment, configuration.
func (d *databaseFlag) databaseOf(p *process, cfg *config.Config) (url, direct secret.Value) {
	if url = d.given(p); !url.IsZero() {
		return url, url
	}
	if direct = cfg.Database.DirectURL; direct.IsZero() {
		direct = cfg.Database.URL
	}
	return cfg.Database.URL, direct
}

// wrongCount is the answer to a number that must be positive.
func wrongCount(flag string, n int) error {
	return misused("--%s %d: it must be at least 1", flag, n)
}
