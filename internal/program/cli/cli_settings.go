package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// databaseFlag contains the database flags of a command. Its URL takes precedence over
// DATABASE_URL, which takes precedence over the configuration.
type databaseFlag struct {
	url     string
	cell    string
	warned  bool // true after the warning about a visible password
	assumed bool // true after the note about a missing configuration
}

func (d *databaseFlag) register(flags *pflag.FlagSet) {
	d.registerURL(flags)
	flags.StringVar(&d.cell, "cell", "", "`name` of the cell to use (default main; commands that list rows use all cells)")
}

// registerURL is like register, but without --cell, for commands that do not select a cell.
func (d *databaseFlag) registerURL(flags *pflag.FlagSet) {
	flags.StringVar(&d.url, "database-url", "", "connection `URL` of Postgres (default $DATABASE_URL, then database.url in the configuration)")
}

// givenDatabase returns the URL from the flag or the environment, or an empty value.
func (c *cli) givenDatabase() secret.Value {
	if c.database.url != "" {
		c.warnOfPassword("--database-url", c.database.url, "set DATABASE_URL instead, or database.url_file in the configuration. "+
			"Printed commands omit the password: set PGPASSWORD to run them")
		return secret.New(c.database.url)
	}
	url, _ := c.Env("DATABASE_URL")
	return secret.New(url)
}

// warnOfPassword warns once that a password on the command line is not secret.
func (c *cli) warnOfPassword(flag, url, instead string) {
	d := &c.database
	if _, had := withoutPasswords(url); d.warned || !had {
		return // already warned, or the password is from elsewhere, such as a PGPASSFILE
	}
	d.warned = true
	fmt.Fprintf(c.Stderr, "%s: every user of this machine can read the password in %s in the list of processes; %s\n", c.Name, flag, instead)
}

// setting matches one setting of a connection string that is not a URL.
var setting = regexp.MustCompile(`(\w+)\s*=\s*(?:'(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)\s*`)

// withoutPasswords returns a connection URL or string for printed commands, and whether it had a
// password. The passwords are removed and not replaced by a variable: Postgres's own PGPASSWORD,
// PGSSLPASSWORD and PGPASSFILE supply them, while a variable such as $DATABASE_URL may contain
// the URL of another database. A URL that cannot be parsed is not shown at all.
func withoutPasswords(given string) (bare string, had bool) {
	secret := func(name string) bool { return strings.Contains(strings.ToLower(name), "password") }
	if _, err := pgx.ParseConfig(given); err != nil {
		return "...", false
	}
	if !strings.HasPrefix(given, "postgres://") && !strings.HasPrefix(given, "postgresql://") {
		bare = strings.TrimSpace(setting.ReplaceAllStringFunc(given, func(one string) string {
			if name, _, _ := strings.Cut(one, "="); secret(name) {
				had = true
				return ""
			}
			return one
		}))
		return bare, had
	}
	u, err := url.Parse(given)
	if err != nil {
		return "...", false
	}
	if _, had = u.User.Password(); had {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for name := range query {
		if secret(name) {
			had = true
			query.Del(name)
			u.RawQuery = query.Encode()
		}
	}
	if !had {
		return given, false
	}
	return u.String(), true
}

// loadConfig finds, reads and checks the configuration.
func (c *cli) loadConfig() (*config.Config, error) {
	path, err := config.Find(c.configPath)
	if err != nil {
		return nil, err
	}
	return config.Load(path, c.Env)
}

// loadForDatabase is like loadConfig, for commands that only need the database: if the flag or the
// environment sets a database, no file is required. A file that exists must be usable.
func (c *cli) loadForDatabase() (*config.Config, error) {
	cfg, err := c.loadConfig()
	if errors.Is(err, config.ErrNoFile) && !c.givenDatabase().IsZero() {
		cfg, err = c.assumeDefaults(), nil
	}
	if err != nil {
		return nil, err
	}
	return c.cellOf(cfg)
}

// assumeDefaults returns the default configuration, and says so once on stderr, because the
// processes may have a configuration with another schema or with an export.
func (c *cli) assumeDefaults() *config.Config {
	cfg := config.Default()
	if !c.database.assumed {
		c.database.assumed = true
		fmt.Fprintf(c.Stderr, "%s: no configuration was found, so the defaults apply: the schema %s, no cells and no export; name a file with --config\n",
			c.Name, cfg.Database.Schema)
	}
	return &cfg
}

// cellOf returns the configuration of the chosen cell.
func (c *cli) cellOf(cfg *config.Config) (*config.Config, error) {
	name := cmp.Or(c.database.cell, config.MainCell)
	if !slices.Contains(cfg.CellNames(), name) {
		return nil, misused("--cell %s: %s has no such cell; its cells are %s", name, cmp.Or(cfg.Path(), "the default configuration"), strings.Join(cfg.CellNames(), ", "))
	}
	return cfg.InCell(name), nil
}

// flags returns those flags of the command line that printed commands repeat. Values from the
// environment are not repeated, because a printed command runs in the same shell.
func (c *cli) flags() cells.Flags {
	given := cells.Flags{Config: c.configPath, Cell: c.database.cell}
	if c.database.url != "" {
		given.DatabaseURL, _ = withoutPasswords(c.database.url)
	}
	return given
}

// command returns a command line of the program. It begins with the name of the program and the
// text in the parameter words. The flags after them select the configuration, the database and the
// cell that c uses.
func (c *cli) command(words string) string {
	return c.Name + strings.TrimPrefix(c.flags().AddTo(ProgramName+" "+words), ProgramName)
}

// inCell returns a copy of c that uses another cell.
func (c *cli) inCell(name string) *cli {
	one := *c
	one.database.cell = name
	return &one
}

// loadToRun is like loadConfig, for commands that use the whole configuration. If app.CheckConfig
// refuses the configuration, loadToRun returns both the configuration and the error.
func (c *cli) loadToRun() (*config.Config, error) {
	cfg, err := c.loadConfig()
	if err != nil {
		return nil, err
	}
	return cfg, app.CheckConfig(cfg)
}

// sourceOf returns the configured source that a command's argument names.
func sourceOf(cfg *config.Config, name string) (config.Source, error) {
	s, known := cfg.Sources[name]
	if other, elsewhere := cfg.Whole().Sources[name]; !known && elsewhere {
		return s, fmt.Errorf("source %q is in another cell: add --cell %s", name, other.InCell())
	}
	if !known {
		return s, fmt.Errorf("%s has no source %q; its sources are %s", cfg.Path(), name, strings.Join(slices.Sorted(maps.Keys(cfg.Sources)), ", "))
	}
	return s, nil
}

// listenFlags override the configured addresses.
type listenFlags struct{ gateway, admin string }

func (l *listenFlags) register(cmd *cobra.Command, kind serveKind) {
	if kind.gateway {
		cmd.Flags().StringVar(&l.gateway, "listen", "", "`address` of the gateway (default gateway.listen in the configuration)")
	}
	cmd.Flags().StringVar(&l.admin, "admin-listen", "", "`address` of the admin listener (default admin.listen in the configuration)")
}

// check rejects a flag that is not an address.
func (l *listenFlags) check() error {
	if err := checkAddress("listen", l.gateway); err != nil {
		return err
	}
	return checkAddress("admin-listen", l.admin)
}

// checkAddress rejects a flag that is set but is not an address to listen on.
func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if _, notNumber := strconv.ParseUint(port, 10, 16); address != "" && (err != nil || notNumber != nil) {
		return misused("--%s %q: it must be a host and a port, such as 127.0.0.1:8080", flag, address)
	}
	return nil
}

// override applies the flags to the configuration.
func (l *listenFlags) override(cfg *config.Config) {
	if l.gateway != "" {
		cfg.Gateway.Listen = l.gateway
	}
	if l.admin != "" {
		cfg.Admin.Listen = l.admin
		if !cfg.Given("admin.console_url") {
			cfg.Admin.ConsoleURL = cfg.Admin.URL()
		}
	}
}

// Hints for an address that is in use.
const (
	gatewayHint = "choose another address with --listen, or set gateway.listen in the configuration"
	adminHint   = "choose another address with --admin-listen, or set admin.listen in the configuration"
)

// overridingDatabase returns the URL from the flag or the environment if it overrides the
// configured URLs, and otherwise an empty value. The flag always overrides them. DATABASE_URL
// overrides them unless it equals database.url. Only the URLs of the main cell can be overridden.
func (c *cli) overridingDatabase(cfg *config.Config) secret.Value {
	elsewhere := c.database.cell != "" && c.database.cell != config.MainCell
	url := c.givenDatabase()
	if elsewhere || c.database.url == "" && !cfg.Database.OverriddenBy(url) {
		return secret.Value{}
	}
	return url
}

// databaseOf returns a command's connection URL. If a URL overrides the configuration, it is that
// URL. Otherwise it is direct_url, which bypasses a pooler, or url if direct_url is not set.
func (c *cli) databaseOf(cfg *config.Config) secret.Value {
	if url := c.overridingDatabase(cfg); !url.IsZero() {
		return url
	}
	if direct := cfg.Database.DirectURL; !direct.IsZero() {
		return direct
	}
	return cfg.Database.URL
}

// wrongCount returns the error for a number that must be positive.
func wrongCount(flag string, n int) error {
	return misused("--%s %d: it must be at least 1", flag, n)
}

// checkRate rejects a rate that is negative or not a finite number.
func checkRate(rate float64, what string) error {
	if rate < 0 || math.IsNaN(rate) || math.IsInf(rate, 0) {
		return misused("--rate %g: it must be a number of %s per second, or 0 for no limit", rate, what)
	}
	return nil
}
