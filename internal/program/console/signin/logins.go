package signin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/schema"
)

// A login ends idleFor after its last request, but no later than longest after the sign-in.
const (
	idleFor    = 12 * time.Hour
	longest    = 7 * 24 * time.Hour
	touchEvery = time.Minute // precision of the stored time of the last request
	// dropAtOnce is the maximum number of expired logins that each new login deletes.
	dropAtOnce = 100
	// patience limits the time of one call's statements. A frozen server would never respond, and a
	// COMMIT may wait forever for a synchronous standby.
	patience = 3 * time.Second
)

// Logins stores the signed-in users, with one login per browser. The database contains only hashes
// of cookies, so read access to the database does not allow signing in.
type Logins struct {
	db       pipeline.ByIndex
	sql      statements
	patience time.Duration // a constant, except in tests
}

// NewLogins returns the Logins for a database.
func NewLogins(pool *pgxpool.Pool, name schema.Name) (*Logins, error) {
	if pool == nil {
		return nil, errors.New("logins: a pool is required")
	}
	sql, err := loadStatements(name.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("logins: %w", err)
	}
	return &Logins{db: pipeline.ByIndex{Sender: pool}, sql: sql, patience: patience}, nil
}

// login is one sign-in.
type login struct {
	Person

	token string // token name; empty if the token has no name, or no token was used
	basis []byte
}

// basisOf returns the MAC that binds a login to its Person and to its secret, so that the login
// ends when either of them changes. Because of the secret, write access to the table does not allow
// creating a login. The key is the cookie, so read access does not allow guessing a token.
func basisOf(cookie string, p Person, token, reliesOn string) []byte {
	mac := hmac.New(sha256.New, []byte(cookie))
	for _, part := range []string{p.Name, string(p.Role), string(p.Way), token, reliesOn} {
		fmt.Fprintf(mac, "%d:%s", len(part), part) // never fails
	}
	return mac.Sum(nil)
}

func hashOf(cookie string) ofLogin {
	sum := sha256.Sum256([]byte(cookie))
	return ofLogin{sum[:]}
}

// begin signs a user in, and deletes some expired logins.
func (l *Logins) begin(ctx context.Context, cookie string, p Person, token, reliesOn string) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	_, err := l.sql.BeginLogin.With(beginLogin{hashOf(cookie), ofPerson{p.Name, p.Way, token}, p.Role, basisOf(cookie, p, token, reliesOn)}).Exec(ctx, l.db)
	if err == nil {
		_, err = l.sql.DropLogins.With(dropLogins{idleFor.Seconds(), dropAtOnce}).Exec(ctx, l.db)
	}
	if err != nil {
		return fmt.Errorf("begin login: %w", err)
	}
	return nil
}

// find returns a cookie's login, or false if there is none or it has expired.
func (l *Logins) find(ctx context.Context, cookie string) (found login, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	of := hashOf(cookie)
	var stale bool
	err = l.sql.FindLogin.With(findLogin{of, touchEvery.Seconds(), idleFor.Seconds(), longest.Seconds()}).QueryRow(ctx, l.db).
		Scan(&found.Name, &found.Role, &found.Way, &found.token, &found.basis, &stale)
	if errors.Is(err, pgx.ErrNoRows) {
		return login{}, false, nil
	}
	if err != nil {
		return login{}, false, fmt.Errorf("find login: %w", err)
	}
	if stale {
		_, _ = l.sql.TouchLogin.With(touchLogin{of, touchEvery.Seconds()}).Exec(ctx, l.db) // after a failure, the next request repeats the update
	}
	found.Cookie = true
	return found, true, nil
}

// end signs out the browser that has the cookie.
func (l *Logins) end(ctx context.Context, cookie string) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	if _, err := l.sql.EndLogin.With(hashOf(cookie)).Exec(ctx, l.db); err != nil {
		return fmt.Errorf("end login: %w", err)
	}
	return nil
}

// endAll ends all logins that have the same name, way and token as a login.
func (l *Logins) endAll(ctx context.Context, of login) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	if _, err := l.sql.EndLogins.With(ofPerson{of.Name, of.Way, of.token}).Exec(ctx, l.db); err != nil {
		return fmt.Errorf("end logins: %w", err)
	}
	return nil
}
