package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/app"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/schema"
)

// checkup collects the findings of the check command.
type checkup struct {
	*cli

	findings     []doctor.Finding
	configuredBy *config.Config // nil if the configuration is missing or invalid
}

func (c *checkup) add(level doctor.Level, check, message, fix string) {
	c.findings = append(c.findings, doctor.Finding{Level: level, Check: check, Message: message, Fix: fix})
}

func (c *checkup) count(level doctor.Level) int {
	n := 0
	for _, f := range c.findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

func (c *cli) newCheck() *cobra.Command {
	var fix, yes bool
	var server string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check configuration, database, schema and invariants",
		Long: `Check the configuration and the database: its connection, the durability of its commits,
its schema, and the invariants that Hooklatch guarantees. The command also runs the
checks in the configuration. It changes no stored data, and connects only to Postgres, to
the Redis of gateway.seen_cache, and to the storage of retention.export, where it writes,
reads and deletes a small file. The exit code is 1 if there is a problem, and 0 if there
are only warnings.

With --fix, check only looks for deprecated keys in the configuration file. It shows
them or, with --yes, replaces them and keeps a copy of the old file.

With --engine, check tests whether a Postgres server, a pooler or a compatible server
can do what Hooklatch needs, in a schema that it creates and drops. It reads no
configuration and takes a few seconds, at most 10 minutes. A problem names a missing
capability that Hooklatch needs. A warning names a missing capability that Hooklatch can
do without, and the setting to use in that case. Use an empty database, because the
check waits for long transactions in the same database.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if yes && !fix {
				return misused("--yes works only with --fix")
			}
			switch {
			case fix && server != "":
				return misused("--fix changes the configuration, and --engine does not read it: give one of them")
			case c.database.url != "" && server != "":
				return misused("--database-url is only for a check of the configured database: omit it with --engine")
			case fix && c.asJSON:
				return misused("--fix prints no JSON: omit --json")
			}
			if fix {
				cfg, err := c.loadConfig()
				if err != nil {
					return err
				}
				return c.fix(cfg, yes)
			}
			found := &checkup{cli: c}
			if server != "" {
				found.engine(cmd.Context(), server)
			} else {
				found.cells(cmd.Context(), found.configuration())
				found.seenCache(cmd.Context())
			}
			if err := found.print(); err != nil {
				return err
			}
			if found.count(doctor.Problem) > 0 {
				return errFound
			}
			return nil
		},
	}
	c.database.registerURL(cmd.Flags())
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&fix, "fix", false, "show deprecated keys in the configuration file, instead of checking")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --fix, replace the deprecated keys")
	cmd.Flags().StringVar(&server, "engine", "", "test the server at this connection `URL` in a temporary schema, without a configuration")
	return cmd
}

// cells checks the database of each cell.
func (c *checkup) cells(ctx context.Context, cfg *config.Config) {
	if cfg == nil {
		c.database(ctx, nil)
		return
	}
	known := c.configuredBy != nil
	for _, name := range cfg.CellNames() {
		part, from := cfg.InCell(name), len(c.findings)
		c.cli.database.cell = name
		if known {
			c.configuredBy = part
		}
		c.database(ctx, part)
		for i := from; i < len(c.findings) && name != config.MainCell; i++ {
			c.findings[i].Message = "cell " + name + ": " + c.findings[i].Message
			c.findings[i].Fix = c.flags().AddTo(c.findings[i].Fix)
		}
	}
}

// configuration returns the configuration against which the database is checked. It returns nil if
// no configuration could be read and no database URL is given.
func (c *checkup) configuration() *config.Config {
	cfg, err := c.loadToRun()
	if err == nil {
		c.add(doctor.OK, "configuration", fmt.Sprintf("%s: %s, %s, %s", cfg.Path(),
			counted(len(cfg.Sources), "source"), counted(len(cfg.Destinations), "destination"), counted(len(cfg.Routes), "route")), "")
		c.configured(cfg)
		c.configuredBy = cfg
		return cfg
	}
	if !c.problems(err) {
		c.add(doctor.Problem, "configuration", err.Error(), "create one, or start with `hooklatch dev`")
	}
	if c.givenDatabase().IsZero() {
		return cfg
	}
	if cfg == nil {
		fallback := config.Default()
		cfg = &fallback
	}
	return cfg
}

// problems adds a finding for every problem of the configuration in err, and reports whether err
// contains any.
func (c *checkup) problems(err error) bool {
	if all, ok := errors.AsType[config.Problems](err); ok && !joined(err) {
		for _, one := range all {
			fix := "correct this line"
			if strings.Contains(one.Message, config.NotSet) {
				fix = "set the variable in the environment of this program; the line itself is correct"
			}
			c.add(doctor.Problem, "configuration", one.Error(), fix)
		}
		return true
	}
	several, ok := err.(interface{ Unwrap() []error }) // an errors.Join
	if !ok {
		return false
	}
	found := false
	for _, one := range several.Unwrap() {
		found = c.problems(one) || found
	}
	return found
}

func joined(err error) bool {
	if _, ok := err.(config.Problems); ok { //nolint:errorlint // a wrapped error does not count
		return false
	}
	_, ok := err.(interface{ Unwrap() []error }) // a wrapped error does not count
	return ok
}

// configured checks the settings of a valid configuration, and warns of settings that are rarely
// intended.
func (c *checkup) configured(cfg *config.Config) {
	c.sources(cfg, time.Now())
	c.certificates(cfg, time.Now())
	c.signing(cfg)
	tooFew, warning := app.CheckConns(cfg)
	c.problems(tooFew)
	if warning != nil {
		c.add(doctor.Warning, "configuration", warning.Error(), "or run `hooklatch gateway` and `hooklatch worker` as separate processes")
	}
	for name, s := range cfg.Sources {
		if s.Handlers {
			c.add(doctor.Warning, "handlers", fmt.Sprintf("source %q leaves its events to Go handlers, and this program has no handlers", name),
				"run a worker of your own with worker.Handle, or remove handlers: true")
		}
	}
	for _, warning := range app.Warnings(cfg, c.givenDatabase()) {
		c.add(doctor.Warning, warning.Check, warning.Message, warning.Fix)
	}
	if len(cfg.Sources) == 0 {
		c.add(doctor.Warning, "sources", "no sources are configured: no deliveries can be received", "add one, such as sources: {stripe: {provider: stripe, secrets: [...]}}")
	}
	if len(cfg.Routes) == 0 && len(cfg.Sources) > 0 {
		c.add(doctor.Warning, "routes", "no routes are configured: every event will be skipped", "add one, such as routes: [{name: all, from: \"*\", to: app}]")
	}
}

func (c *checkup) database(ctx context.Context, cfg *config.Config) {
	if cfg == nil {
		c.add(doctor.Warning, "database", "not checked: without a configuration its address is unknown", "pass --database-url or set DATABASE_URL")
		return
	}
	pool, err := openPool(ctx, c.databaseOf(cfg))
	if err != nil {
		c.add(doctor.Problem, "database", err.Error(), "correct the connection URL that the error names")
		return
	}
	defer pool.Close()
	between, err := doctor.Pooler(ctx, pool)
	var found []doctor.Finding
	var locks doctor.Finding
	if err == nil && between.Level != doctor.Problem {
		locks, err = doctor.Locks(ctx, pool)
	}
	if err == nil && between.Level != doctor.Problem {
		found, err = doctor.Server(ctx, pool, doctor.ServerOptions{Schema: schema.Name(cfg.Database.Schema), AllowFsyncOff: cfg.Database.AllowsFsyncOff()})
	}
	if err != nil {
		c.add(doctor.Problem, "database", err.Error(), "start the database, or correct address and password in --database-url, DATABASE_URL or database.url")
		return
	}
	at := pool.Config().ConnConfig
	c.add(doctor.OK, "database", fmt.Sprintf("%s:%d/%s can be reached", at.Host, at.Port, at.Database), "")
	if between.Level == doctor.Problem && !cfg.Database.Listens() { // processes, unlike commands, work through this pooler
		between.Level = doctor.Warning
		between.Message, between.Fix = "commands do not work through this pooler, and nothing else was checked", "pass --database-url or set DATABASE_URL to an address that bypasses it"
		c.findings = append(c.findings, between)
		return
	}
	c.findings = append(append(c.findings, between), found...)
	if between.Level == doctor.Problem {
		return
	}
	c.findings = append(c.findings, locks)
	if name := schema.Name(cfg.Database.Schema); c.schema(ctx, pool, name) {
		c.bypassed(ctx, pool, cfg)
		found, err = doctor.Rights(ctx, pool, name)
		c.rows("rights", found, err)
		found, err = doctor.Invariants(ctx, pool, name)
		c.rows("invariants", found, err)
		found, err = doctor.Waiting(ctx, pool, name)
		c.rows("waiting", found, err)
		c.server(ctx, pool, cfg)
		c.standby(ctx, pool, cfg)
		c.statements(ctx, pool, cfg)
		c.retention(ctx, pool, cfg)
		c.export(ctx, pool, cfg)
		c.lists(ctx, pool, cfg)
		if c.configuredBy != nil {
			c.unserved(ctx, pool, c.configuredBy)
			c.agreement(ctx, pool, c.configuredBy)
		}
	}
}

// fewDaysAhead and tooFewDaysAhead are numbers of days for which partitions exist in advance. Fewer
// days than fewDaysAhead are a warning, and fewer than tooFewDaysAhead are a problem.
const (
	fewDaysAhead    = 7
	tooFewDaysAhead = 2
)

// schema checks the migrations, River's tables and the partitions. It reports whether all tables
// that this program needs exist.
func (c *checkup) schema(ctx context.Context, pool *pgxpool.Pool, name schema.Name) bool {
	const up = "run: hooklatch migrate up"
	m, err := schema.NewMigrator(pool, name, nil)
	if err != nil {
		c.add(doctor.Problem, "schema", err.Error(), "correct database.schema")
		return false
	}
	status, err := m.Status(ctx)
	if err != nil {
		c.add(doctor.Problem, "schema", err.Error(), "grant this role the right to read the schema")
		return false
	}
	if !slices.ContainsFunc(status.Migrations, func(one schema.MigrationStatus) bool { return one.AppliedAt != nil }) {
		c.add(doctor.Problem, "schema", fmt.Sprintf("schema %q has no tables yet", name), up)
		return false
	}
	ready := true
	if status.River.Present < status.River.Wanted {
		ready = false
		c.add(doctor.Problem, "schema", fmt.Sprintf("River's tables in schema %q: %s", name, riverState(status.River)), up)
	}
	for _, one := range status.Migrations {
		switch {
		case one.AppliedAt == nil:
			ready = false
			c.add(doctor.Problem, "schema", fmt.Sprintf("migration %s of schema %q is pending", one, name), up)
		case one.Changed:
			c.add(doctor.Problem, "schema", fmt.Sprintf("migration %s differs from the applied migration", one), "use the program version that applied the migration")
		case one.Unknown:
			c.add(doctor.Warning, "schema", fmt.Sprintf("migration %s was applied by a newer version of the program", one), "finish the upgrade of this program")
		}
	}
	if !ready {
		if status.DaysAhead < 0 {
			c.add(doctor.Problem, "partitions", "deliveries have no partition: no delivery can be stored", up)
		}
		return false
	}
	c.add(doctor.OK, "schema", fmt.Sprintf("schema %q is up to date", name), "")
	days := fmt.Sprintf("partitions of deliveries reach %s ahead", counted(max(status.DaysAhead, 0), "day"))
	switch {
	case status.DaysAhead < tooFewDaysAhead:
		c.add(doctor.Problem, "partitions", days, "a running worker creates them; or "+up)
	case status.DaysAhead < fewDaysAhead:
		c.add(doctor.Warning, "partitions", days, "a running worker creates the partitions: check that a worker is running")
	default:
		c.add(doctor.OK, "partitions", days, "")
	}
	return true
}

// rows adds the findings of a table check, or a problem if the check failed.
func (c *checkup) rows(check string, found []doctor.Finding, err error) {
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "grant this role the right to read the tables")
		return
	}
	c.findings = append(c.findings, found...)
}

// statements checks that Postgres can prepare the statements of sql destinations.
func (c *checkup) statements(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	refused, checked, err := app.PrepareStatements(ctx, pool, cfg)
	switch {
	case err != nil:
		c.add(doctor.Problem, "statements", err.Error(), "correct what the error names")
	case len(refused) > 0:
		for _, one := range refused {
			c.add(doctor.Problem, one.Check, one.Message, one.Fix)
		}
	case checked > 0:
		c.add(doctor.OK, "statements", fmt.Sprintf("Postgres accepts the %s of all sql destinations", counted(checked, "statement")), "")
	}
}

func (c *checkup) print() error {
	given := c.inCell("").flags() // the method cells has already added --cell to the texts
	for i, f := range c.findings {
		c.findings[i].Message, c.findings[i].Fix = given.AddTo(f.Message), given.AddTo(f.Fix)
	}
	if c.asJSON {
		return PrintJSON(c.Stdout, struct {
			Problems int              `json:"problems"`
			Warnings int              `json:"warnings"`
			Findings []doctor.Finding `json:"findings"`
		}{c.count(doctor.Problem), c.count(doctor.Warning), c.findings})
	}
	marks := map[doctor.Level]string{doctor.OK: "ok", doctor.Warning: "warn", doctor.Problem: "FAIL"}
	for _, f := range c.findings {
		first := true
		for line := range strings.Lines(f.Message) {
			mark, check := marks[f.Level], f.Check
			if !first {
				mark, check = "", ""
			}
			first = false
			fmt.Fprintf(c.Stdout, "%-4s  %-23s  %s\n", mark, check, safetext.Shown(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")))
		}
		if f.Fix != "" {
			fmt.Fprintf(c.Stdout, "%-4s  %-23s  -> %s\n", "", "", f.Fix)
		}
	}
	problems, warnings := c.count(doctor.Problem), c.count(doctor.Warning)
	if problems+warnings == 0 {
		_, err := fmt.Fprintln(c.Stdout, "no problems found")
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "%s, %s\n", counted(problems, "problem"), counted(warnings, "warning"))
	return err
}
