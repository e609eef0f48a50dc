package app

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Settings of every pool. Connections are replaced periodically, so that the process notices a
// failover or a new replica. The jitter spreads the replacements over time.
const (
	connectTimeout        = 5 * time.Second
	maxConnLifetime       = 8 * time.Minute
	maxConnLifetimeJitter = 2 * time.Minute
	maxConnIdleTime       = 2 * time.Minute
	healthCheckPeriod     = 15 * time.Second
)

// PoolOptions configure NewPool.
type PoolOptions struct {
	// URL is the connection string. Required.
	URL secret.Value
	// MaxConns is the maximum number of connections. Required.
	MaxConns int
	// ApplicationName is the name in pg_stat_activity, unless URL sets another.
	ApplicationName string
	// Pooled is true if URL may lead to a transaction pooler, such as PgBouncer with pool_mode
	// transaction. Then no statement is prepared by name, and no setting outlives a transaction.
	Pooled bool
	// ReadOnly makes every transaction read-only. It has no effect if Pooled is true.
	ReadOnly bool
	// Servers are the servers that the process has used. If nil, any server is accepted.
	Servers *Servers
	// Login returns the current connection string, from which each new connection takes the user
	// and password. If nil, the login of URL is used.
	Login func() secret.Value
}

// ownSession is the SQL that runs on each new connection that is not shared through a pooler.
//
//go:embed own_session.sql
var ownSession string

// NewPool returns a pool that connects when it is first used.
func NewPool(ctx context.Context, opts PoolOptions) (*pgxpool.Pool, error) {
	if opts.URL.IsZero() {
		return nil, errors.New("no database: give --database-url, set DATABASE_URL, or set database.url in the configuration")
	}
	cfg, err := pgxpool.ParseConfig(opts.URL.Reveal())
	if err != nil {
		// The parser's error is omitted: it quotes the string, and does not reliably mask the
		// password (I12).
		return nil, errors.New("the database URL is not valid: it must be like postgres://user:password@host:5432/database")
	}
	cfg.MaxConns = int32(min(opts.MaxConns, math.MaxInt32)) //nolint:gosec // bounded
	cfg.MaxConnLifetime = maxConnLifetime
	cfg.MaxConnLifetimeJitter = maxConnLifetimeJitter
	cfg.MaxConnIdleTime = maxConnIdleTime
	cfg.HealthCheckPeriod = healthCheckPeriod
	cfg.ConnConfig.ConnectTimeout = cmp.Or(cfg.ConnConfig.ConnectTimeout, connectTimeout)
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = cmp.Or(params["application_name"], opts.ApplicationName)
	if opts.Login != nil {
		cfg.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
			if now, err := pgx.ParseConfig(opts.Login().Reveal()); err == nil { // the configuration check has validated the string
				conn.User, conn.Password = now.User, now.Password
			}
			return nil
		}
	}
	names := newHostNames(cfg.ConnConfig.LookupFunc)
	if opts.Servers != nil {
		names = opts.Servers.names
		cfg.ConnConfig.ValidateConnect = both(cfg.ConnConfig.ValidateConnect, opts.Servers.validate)
	}
	cfg.ConnConfig.LookupFunc = names.addresses
	cfg.ConnConfig.ValidateConnect = both(cfg.ConnConfig.ValidateConnect, names.remember)
	switch {
	case !opts.Pooled:
		cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, ownSession, pgx.QueryExecModeSimpleProtocol)
			if err == nil && opts.ReadOnly {
				_, err = conn.Exec(ctx, "SET default_transaction_read_only = on")
			}
			return err
		}
	case cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement: // pgx's default mode
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	commit.PreparePool(cfg)
	var made atomic.Pointer[pgxpool.Pool]
	resetAtDemotion(cfg.ConnConfig, &made)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("make connection pool: %w", err)
	}
	made.Store(pool)
	return pool, nil
}

// resetAtDemotion replaces all connections of a pool when their server refuses to write because it
// was demoted. Hooklatch's own transactions also reset the pool, but River's statements would try
// one such connection after another. River's completer pauses for seconds between these tries, and
// a stop would wait for the completer.
func resetAtDemotion(config *pgx.ConnConfig, made *atomic.Pointer[pgxpool.Pool]) {
	before := config.OnPgError // OnPgError is never nil in a parsed configuration
	config.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if pool := made.Load(); pool != nil && sqlstate.Demoted(err) {
			pool.Reset()
		}
		return before(conn, err)
	}
}

// both returns a check that runs two checks in order, until one of them fails. The parameter first
// may be nil.
func both(first, second pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if first != nil {
			if err := first(ctx, conn); err != nil {
				return err
			}
		}
		return second(ctx, conn)
	}
}

// loginInURL matches the user and the password in a connection URL. settingInString matches one
// setting of a connection string that is not a URL. Both split the text as pgx does.
var (
	loginInURL      = regexp.MustCompile(`^(postgres(?:ql)?://)[^/?#]*@|([?&])(?:user|password)=[^&]*`)
	settingInString = regexp.MustCompile(`(\w+)\s*=\s*(?:'(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)\s*`)
)

// loginOf returns next if next and old differ only in user and password, and old otherwise. No
// other part of a connection string can change while a process runs. The texts are compared,
// because a parsed string contains functions, such as the one for target_session_attrs, which
// cannot be compared.
func loginOf(old, next secret.Value) secret.Value {
	if old.IsZero() || next.IsZero() || withoutLogin(old.Reveal()) != withoutLogin(next.Reveal()) {
		return old
	}
	return next
}

// withoutLogin returns a connection URL or string without its user and password.
func withoutLogin(connection string) string {
	if strings.HasPrefix(connection, "postgres://") || strings.HasPrefix(connection, "postgresql://") {
		return loginInURL.ReplaceAllString(connection, "$1$2")
	}
	return settingInString.ReplaceAllStringFunc(connection, func(one string) string {
		if name := settingInString.FindStringSubmatch(one)[1]; name == "user" || name == "password" {
			return ""
		}
		return one
	})
}
