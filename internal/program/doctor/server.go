package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// minVersion is the oldest server version with which Hooklatch is tested.
	minVersion = 150000
	// maxSnapshot is the age at which a snapshot becomes a finding. Rows deleted after the snapshot
	// stay in the tables, and every search for jobs reads them.
	maxSnapshot = time.Hour
	// maxDeadJobs is the number of dead rows in river_job at which they become a finding. Dead rows
	// wait for vacuum.
	maxDeadJobs = 100_000
	// maxClockDifference is the maximum difference between the database's clock and this machine's
	// clock.
	maxClockDifference = 2 * time.Second
)

// facts are the columns of query/server.sql.
type facts struct {
	Version           string
	VersionNumber     int
	Fsync             string
	FullPageWrites    string
	SynchronousCommit string
	ReadOnly          bool // true if transactions are read-only by default
	InRecovery        bool
	StandbyNames      string
	SyncStandbys      int
	AsyncStandbys     int
	HiddenStandbys    int // standbys whose synchronous state the role may not see
	Encoding          string
	MaxConnections    int
	Connections       int
	SnapshotSeconds   float64 // age of the oldest snapshot
	SnapshotOf        string  // holder of the oldest snapshot
	DeadJobs          int64
	LiveJobs          int64
	Now               time.Time
}

// ServerOptions configure Server.
type ServerOptions struct {
	// Schema contains River's tables, if they exist yet. Defaults to schema.Default.
	Schema schema.Name
	// AllowFsyncOff makes fsync = off a Warning instead of a Problem.
	AllowFsyncOff bool
}

// Server checks the settings on which the durability of a commit depends, the difference between
// the clocks, and conditions that slow the server down.
func Server(ctx context.Context, pool *pgxpool.Pool, opts ServerOptions) ([]Finding, error) {
	opts.Schema = opts.Schema.OrDefault()
	q, err := loadQuestions(opts.Schema)
	if err != nil {
		return nil, err
	}
	// Connecting takes time, so it must precede the comparison of clocks.
	if err := pool.Ping(ctx); err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	before := time.Now()
	rows, err := q.Server.Query(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	f, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[facts])
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	took := time.Since(before)
	findings := append(f.durability(opts), f.clock(before.Add(took/2)))
	return append(findings, f.snapshot(), f.deadJobs(opts.Schema)), nil
}

func (f facts) durability(opts ServerOptions) []Finding {
	var findings []Finding
	add := func(bad bool, level Level, check, fine, wrong, fix string) {
		if bad {
			findings = append(findings, Finding{Level: level, Check: check, Message: wrong, Fix: fix})
			return
		}
		findings = append(findings, Finding{Level: OK, Check: check, Message: fine})
	}
	add(f.VersionNumber < minVersion, Problem, "version", "PostgreSQL "+f.Version,
		"PostgreSQL "+f.Version+" is too old", "upgrade to version 15 or newer")
	lossy := Problem
	if opts.AllowFsyncOff {
		lossy = Warning
	}
	add(f.Fsync != "on", lossy, CheckFsync, "fsync is on",
		"fsync is off: events that were answered with 2xx are lost if the machine loses power", "set fsync = on in postgresql.conf and reload")
	add(f.FullPageWrites != "on", Warning, "full_page_writes", "full_page_writes is on",
		"full_page_writes is off: a power loss can damage pages, unless the file system never writes partial pages", "set full_page_writes = on in postgresql.conf and reload")
	add(f.SynchronousCommit == "off", Warning, "synchronous_commit", "synchronous_commit is "+f.SynchronousCommit,
		"synchronous_commit is off by default: Hooklatch's transactions turn it on, but transactions that your applications begin themselves do not", "set synchronous_commit = on in postgresql.conf and reload")
	add(f.InRecovery, Problem, "primary", "the server is a primary",
		"the server is a standby and accepts no writes", "connect to the primary; target_session_attrs=read-write in the URL finds it among several hosts")
	add(f.ReadOnly && !f.InRecovery, Warning, "writable", "transactions can write",
		"transactions are read-only by default: Hooklatch's own sessions override that, but your applications' sessions and those of a transaction pooler do not", "set default_transaction_read_only = off for this role and database")
	add(f.StandbyNames != "" && f.SyncStandbys+f.HiddenStandbys == 0, Problem, "standby", f.standbys(),
		"synchronous_standby_names is set but no synchronous standby is connected: every commit waits", "start the standby, or empty synchronous_standby_names")
	if !f.InRecovery {
		findings = append(findings, f.survival())
	}
	add(f.Encoding != "UTF8", Problem, "encoding", "the encoding is UTF8",
		"the encoding of the database is "+f.Encoding, "create a database with ENCODING 'UTF8'")
	free := f.MaxConnections - f.Connections
	add(free < f.MaxConnections/10, Warning, "connections", fmt.Sprintf("%d of %d connections are in use", f.Connections, f.MaxConnections),
		fmt.Sprintf("%d of %d connections are in use", f.Connections, f.MaxConnections), "raise max_connections, or lower database.max_conns and the pool sizes of other programs")
	return findings
}

func (f facts) standbys() string {
	switch {
	case f.StandbyNames == "":
		return "no synchronous standby is configured"
	case f.SyncStandbys == 0 && f.HiddenStandbys > 0:
		return standbys(f.HiddenStandbys, "standby is", "standbys are") + " connected; to see which are synchronous, grant the role pg_read_all_stats"
	}
	return standbys(f.SyncStandbys, "synchronous standby is", "synchronous standbys are") + " connected"
}

// standbys returns a number of standbys with its verb, such as "1 standby follows".
func standbys(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

func (f facts) clock(ours time.Time) Finding {
	difference := f.Now.Sub(ours)
	if difference.Abs() > maxClockDifference {
		return Finding{
			Level: Warning, Check: "clock",
			Message: fmt.Sprintf("the database's clock differs from this machine's by %s: retries may be late by that amount; signed times are compared with this machine's clock, and leases with the database's", difference.Round(time.Millisecond)),
			Fix:     "synchronize both clocks with NTP",
		}
	}
	return Finding{Level: OK, Check: "clock", Message: "the clocks of the database and this machine agree within " + maxClockDifference.String()}
}

// CheckFsync is the name of the check for a server that may lose commits.
const CheckFsync = "fsync"

func (f facts) snapshot() Finding {
	held := time.Duration(f.SnapshotSeconds * float64(time.Second))
	if held < maxSnapshot {
		return Finding{Level: OK, Check: "snapshot", Message: "no snapshot is older than " + clock.Roughly(maxSnapshot)}
	}
	return Finding{
		Level: Warning, Check: "snapshot",
		Message: fmt.Sprintf("%s has held a snapshot for %s: rows deleted since cannot be vacuumed, and fetching jobs slows down", f.SnapshotOf, clock.Roughly(held)),
		Fix:     "end the transaction that holds the snapshot, or drop an unused replication slot",
	}
}

func (f facts) deadJobs(name schema.Name) Finding {
	found := fmt.Sprintf("river_job has %s and %s", noun.Counted(f.LiveJobs, "live row"), noun.Counted(f.DeadJobs, "dead row"))
	if f.DeadJobs < maxDeadJobs {
		return Finding{Level: OK, Check: "dead_jobs", Message: found}
	}
	return Finding{
		Level: Warning, Check: "dead_jobs", Message: found + ": fetching jobs slows down",
		Fix: fmt.Sprintf("end transactions with old snapshots, then run in the database: VACUUM %[1]s.river_job; if it happens again: ALTER TABLE %[1]s.river_job SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)", name),
	}
}
