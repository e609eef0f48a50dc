package config

import (
	"slices"

	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Database says where the events, the ledger and the jobs are stored.
type Database struct {
	// Connection string: a postgres:// URL or key=value pairs. It is treated
	// as a secret. Flags and the environment variable DATABASE_URL go before it.
	URL secret.Value `yaml:"url,omitempty"`
	// A connection that leads past a transaction pooler such as PgBouncer, for
	// LISTEN, the queue, handlers, migrations and commands. Defaults to url.
	DirectURL secret.Value `yaml:"direct_url,omitempty"`
	// Postgres schema of our tables and River's. Defaults to hooklatch.
	Schema string `yaml:"schema,omitempty"`
	// Most connections of one process to url; direct_url gets as many as the
	// work does. 8 of them accept deliveries, 1 is for the quarantine and 4 are for
	// what people look at. What remains is for the work, and must be 12 and the
	// concurrency of all sql destinations. 0 computes it. Defaults to 0.
	MaxConns int `yaml:"max_conns,omitempty"`
	// How much all tables may take, like 200GiB. From four fifths of it on, `hooklatch
	// status` and an alert say so; nothing is refused. Defaults to 0, nobody is told.
	SizeBudget size.Bytes `yaml:"size_budget,omitempty"`
	// What is against a guarantee and allowed all the same: fsync_off, for a server that
	// may lose what it committed. Without it a gateway on such a server does not start.
	// Defaults to nothing.
	Allow []string `yaml:"allow,omitempty"`
}

// AllowFsyncOff among Database.Allow lets a gateway answer 2xx for what a server without
// fsync may lose.
const AllowFsyncOff = "fsync_off"

// AllowsFsyncOff reports whether the server may lose what it committed.
func (db Database) AllowsFsyncOff() bool { return slices.Contains(db.Allow, AllowFsyncOff) }

// HA says what may be relied on when the database changes its server.
type HA struct {
	// Commits wait for a standby (synchronous_standby_names), and only a standby that
	// has them all is ever promoted: at_most_once effects go on after it by themselves.
	// Without it they wait until `hooklatch repair` was told what happened. Defaults to
	// false.
	Synchronous bool `yaml:"synchronous,omitempty"`
}
