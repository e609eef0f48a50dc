package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// Standby starts a server that streams all changes of the server behind a pool from New. The pool
// must be from New with Own or Setting. Standby returns the standby, which is stopped at the end of
// the test, and the URL of the same database there.
func Standby(t testing.TB, primary *pgxpool.Pool) (standby *embedded.Server, url string) {
	t.Helper()
	standby = StandbyOf(t, Server(t, primary))
	return standby, standby.URL(lookup(primary).name)
}

// StandbyOf starts a standby of a server, which may itself be a promoted standby. The standby is
// stopped at the end of the test.
func StandbyOf(t testing.TB, of *embedded.Server) *embedded.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, of.URL("postgres"))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	begin, end := of.BackupStatements()
	at := mustParse(of.URL("postgres"))
	password, _ := at.User.Password()
	standby, err := embedded.Start(ctx, embedded.Options{Backup: &embedded.Backup{
		Of: of,
		Begin: func(ctx context.Context) error {
			_, err := conn.Exec(ctx, begin)
			return err
		},
		End: func(ctx context.Context) (map[string]string, error) {
			var label string
			err := conn.QueryRow(ctx, end).Scan(&label)
			return map[string]string{
				"backup_label": label, "standby.signal": "",
				"postgresql.auto.conf": fmt.Sprintf("primary_conninfo = 'host=%s port=%s user=%s password=%s'\n",
					at.Hostname(), at.Port(), at.User.Username(), password),
			}, err
		},
	}})
	if err != nil {
		t.Fatalf("pgtest: start a standby: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		_ = Resume(standby) // fails if the test has killed the standby
		if err := standby.Stop(ctx); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return standby
}
