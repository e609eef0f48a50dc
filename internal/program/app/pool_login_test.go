package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// Connections of a running process can only change their user and password. Any other change of a
// connection URL or string waits for a restart.
func TestOnlyTheLoginOfAConnectionChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, next string
		login     bool
	}{
		{"postgres://u:p@h:5432/x?a=b", "postgres://u2:p2@h:5432/x?a=b", true},
		{"postgresql://u:p@h1:5432,h2:5433/x", "postgresql://u:p%40%2F@h1:5432,h2:5433/x", true},
		{"postgres://u:p@1@h/x", "postgres://u:q@2@h/x", true},
		{"postgres://h/x?user=u&password=p&a=b", "postgres://h/x?user=u2&password=p2&a=b", true},
		{"host=h user=u password=p dbname=x", `host=h user=u2 password='p\' 2' dbname=x`, true},
		{"password=p\\ 1 host=h", "password=p2 host=h", true},
		{"postgres://u:p@h/x", "postgres://u:p@h,h2/x", false},
		{"postgres://u:p@h/x", "postgres://u:p@h2/x", false},
		{"postgres://u:p@h/x", "postgres://u:p@h:5433/x", false},
		{"postgres://u:p@h/x", "postgres://u:p@h/y", false},
		{"postgres://u:p@h/x", "postgres://u:p@h/x?sslmode=verify-full", false},
		{"postgres://u:p@h/x?sslpassword=p", "postgres://u:p@h/x?sslpassword=p2", false},
		{"postgres://u:p@h/x?target_session_attrs=any", "postgres://u:p@h/x?target_session_attrs=read-write", false},
		{"postgres://u:p@h/x?connect_timeout=3", "postgres://u:p@h/x?connect_timeout=4", false},
		{"postgres://u:p@h/x?statement_timeout=3", "postgres://u:p@h/x?statement_timeout=4", false},
		{"host=h user=u password=p", "host=h,h2 user=u password=p", false},
		{"host=h user=u sslrootcert=a", "host=h user=u sslrootcert=b", false},
		{"host=h user=u", "postgres://u@h/", false},
		{"", "postgres://u@h/x", false},
		{"postgres://u@h/x", "", false},
	} {
		want := c.old
		if c.login {
			want = c.next
		}
		require.Equal(t, want, loginOf(secret.New(c.old), secret.New(c.next)).Reveal(), c.next)
	}
}
