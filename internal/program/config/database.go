package config

import (
	"slices"

	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Database configures where the events, the ledger and the jobs are stored.
type Database struct {
	// Connection string: a postgres:// URL or key=value pairs. The string is treated as a
	// secret. A different URL from a flag or the environment variable DATABASE_URL
	// overrides url, direct_url and read_url.
	URL secret.Value `yaml:"url,omitempty"`
	// A connection that bypasses a transaction pooler such as PgBouncer, for
	// LISTEN, the queue, handlers, migrations and commands. Defaults to url.
	DirectURL secret.Value `yaml:"direct_url,omitempty"`
	// A hot standby of the database at url. The console, /api and commands read lists, searches and
	// statistics from it, read-only, with at most 4 connections per process. Their output says how
	// far the standby is behind. If the standby does not answer, or is more than 30 seconds behind,
	// they read from url. Decisions and changes never use the standby. The connection must not lead
	// to a transaction pooler. Defaults to no standby.
	ReadURL secret.Value `yaml:"read_url,omitempty"`
	// Set this to false if the server, or a pooler without a direct_url, does not support
	// LISTEN. Workers then find jobs by polling each queue every 150 ms. Give all
	// processes the same value. See docs/operations.md#without-listen. Defaults to true.
	Listen *bool `yaml:"listen,omitempty"`
	// Postgres schema of Hooklatch's and River's tables. Defaults to hooklatch.
	Schema string `yaml:"schema,omitempty"`
	// Set this to on_start to make each process of `hooklatch serve` apply pending migrations
	// before it uses the database, as `hooklatch migrate up` does. The role of the process must
	// own the schema. Until the migrations are applied, deliveries are answered with 503. The
	// commands `hooklatch gateway` and `hooklatch worker` ignore this setting. Defaults to none: an
	// operator applies migrations.
	Migrate string `yaml:"migrate,omitempty"`
	// Maximum number of connections of one process to url. 8 connections accept
	// deliveries, 1 is for the quarantine and 4 are for the console and other reads. The
	// remaining connections are for the worker: at least 12 plus the concurrency of all
	// sql destinations, plus worker.handler_workers if a source has handlers. direct_url
	// gets as many connections as the worker. With 0, the process computes the number.
	// Defaults to 0.
	MaxConns int `yaml:"max_conns,omitempty"`
	// Disk space that all tables may use, such as 200GiB. When the tables reach four fifths of this
	// size, `hooklatch status` and an alert report it; nothing is refused. Defaults to 0, no
	// budget.
	SizeBudget size.Bytes `yaml:"size_budget,omitempty"`
	// Settings that break a guarantee and are allowed nevertheless: fsync_off, for a
	// server that may lose commits. Unless fsync_off is allowed, a gateway does not start
	// on such a server. Defaults to nothing.
	Allow []string `yaml:"allow,omitempty"`
}

// OverriddenBy reports whether a URL from a flag or DATABASE_URL overrides url, direct_url and
// read_url. A URL that equals url overrides nothing. With `url: ${DATABASE_URL}`, direct_url and
// read_url therefore apply.
func (db Database) OverriddenBy(given secret.Value) bool { return !given.IsZero() && given != db.URL }

// MigrateOnStart is the value of Database.Migrate with which serve applies pending migrations.
const MigrateOnStart = "on_start"

// AllowFsyncOff in Database.Allow lets a gateway answer 2xx although a server without fsync may
// lose the delivery.
const AllowFsyncOff = "fsync_off"

// AllowsFsyncOff reports whether a server that may lose commits is allowed.
func (db Database) AllowsFsyncOff() bool { return slices.Contains(db.Allow, AllowFsyncOff) }

// Listens reports whether workers wait for notifications with LISTEN.
func (db Database) Listens() bool { return db.Listen == nil || *db.Listen }

// HA describes Hooklatch's assumptions about a database failover.
type HA struct {
	// Set this to true only if commits wait for a standby (synchronous_standby_names) and
	// only a standby with all commits is ever promoted. at_most_once effects then continue
	// automatically after a failover. Otherwise they wait until an operator runs
	// `hooklatch repair`. Defaults to false.
	Synchronous bool `yaml:"synchronous,omitempty"`
}
