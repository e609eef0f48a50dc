package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// standbyName is the application_name of the standby's replication.
const standbyName = "hookstorm_standby"

// pollPause is the pause between two checks of a server that is getting ready.
const pollPause = 10 * time.Millisecond

// join starts a new server as the standby of the primary, and waits until it follows the primary.
func (c *Cluster) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*settleTimeout)
	defer cancel()
	primary := c.server()
	return withConn(ctx, primary, func(ctx context.Context, conn *pgx.Conn) error {
		standby, err := c.startServer(ctx, c.backupOf(primary, conn))
		if err != nil {
			return fmt.Errorf("start standby: %w", err)
		}
		c.mu.Lock()
		c.standby = standby
		c.mu.Unlock()
		if err := awaitStandby(ctx, conn, "streaming"); err != nil {
			return err
		}
		if !c.opts.Synchronous {
			return nil
		}
		// Only the primary has this setting, so that a promoted standby does not wait for
		// a standby.
		for _, statement := range []string{
			"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (" + standbyName + ")'",
			"SELECT pg_reload_conf()",
		} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("replicate synchronously: %w", err)
			}
		}
		return awaitStandby(ctx, conn, "sync")
	})
}

// backupOf returns a backup for a standby, taken through a connection to the server.
func (c *Cluster) backupOf(server *embedded.Server, conn *pgx.Conn) *embedded.Backup {
	begin, end := server.BackupStatements()
	return &embedded.Backup{
		Of: server,
		Begin: func(ctx context.Context) error {
			_, err := conn.Exec(ctx, begin)
			return err
		},
		End: func(ctx context.Context) (map[string]string, error) {
			var label string
			if err := conn.QueryRow(ctx, end).Scan(&label); err != nil {
				return nil, err
			}
			follow, err := c.followSettings(server.URL(""))
			return map[string]string{"backup_label": label, "standby.signal": "", "postgresql.auto.conf": follow}, err
		},
	}
}

// followSettings returns the settings with which a standby follows the primary at the given URL, as
// the content of postgresql.auto.conf.
func (c *Cluster) followSettings(primary string) (string, error) {
	u, err := url.Parse(primary)
	if err != nil {
		return "", errors.New("the URL of the primary cannot be read") // the cause quotes the password
	}
	if c.opts.Upstream != nil {
		u.Host = c.opts.Upstream(u.Host)
	}
	password, _ := u.User.Password()
	// The password has only letters and digits, so it needs no quotes.
	return fmt.Sprintf("primary_conninfo = 'host=%s port=%s user=%s password=%s sslmode=disable application_name=%s'\n",
		u.Hostname(), u.Port(), u.User.Username(), password, standbyName), nil
}

//go:embed query/standby.sql
var standbySQL string

// awaitStandby waits until pg_stat_replication shows the standby in the given state or sync_state.
// By then, the standby also has all WAL on disk that the primary had written when awaitStandby was
// called.
func awaitStandby(ctx context.Context, conn *pgx.Conn, state string) error {
	var written string
	if err := conn.QueryRow(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&written); err != nil {
		return fmt.Errorf("await standby: %w", err)
	}
	for {
		var there bool
		if err := conn.QueryRow(ctx, standbySQL, standbyName, state, written).Scan(&there); err != nil {
			return fmt.Errorf("await standby that is %s: %w", state, err)
		}
		if there {
			return nil
		}
		time.Sleep(pollPause)
	}
}

// withConn connects to a server and calls the function use with the connection.
func withConn(ctx context.Context, server *embedded.Server, use func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*settleTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the connection is idle
	return use(ctx, conn)
}
