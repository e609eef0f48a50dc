// Package standby decides whether lists may be read from a server: the server must be a standby of
// the primary, and must have replayed the primary's recent changes. No decision is ever based on a
// read from a standby.
package standby

import (
	"context"
	"embed"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// maxLag is the maximum lag of a standby behind the primary.
	maxLag = 30 * time.Second
	// Timeout limits the reads of a console page from the standby. After that, the page is read
	// from the primary.
	Timeout = 4 * time.Second

	// lookTimeout limits each query that checks a server.
	lookTimeout = time.Second
	// usedFor is the time for which a standby is used after a successful check. refusedFor is the
	// time for which it is not used after a failed check or read. A standby that has not replayed a
	// known change is checked again after catchUp.
	usedFor    = time.Second
	refusedFor = 5 * time.Second
	catchUp    = 100 * time.Millisecond
)

//go:embed query/*.sql
var queries embed.FS

type statements struct{ Primary, Standby statement.Bound }

// State is the result of a check: whether reads may go to the standby.
type State struct {
	// Refused says why the standby cannot be used. It is empty if the standby can be used.
	Refused string
	// Cause is the error behind Refused, if there is one. It may name hosts and users.
	Cause error
	// Lag is how far the standby was behind the primary when it was checked.
	Lag time.Duration
}

// Usable reports whether reads may go to the standby.
func (s State) Usable() bool { return s.Refused == "" }

// String describes the state to a user, as a sentence.
func (s State) String() string {
	if !s.Usable() {
		return "Read from the primary: " + s.Refused + "."
	}
	return "Read from the standby, " + behind(s.Lag) + " behind the primary."
}

// Standby is a server that replays the primary's changes. It is safe for concurrent use.
type Standby struct {
	// MaxLag is how far the standby may be behind the primary. New sets 30 seconds.
	MaxLag time.Duration

	primary, standby *pgxpool.Pool
	sql              statements

	mu      sync.Mutex
	state   State
	until   time.Time // time at which state is checked again
	changed bool      // true after a change that reads must show
	needed  int64     // position in the WAL that the standby must have replayed
}

// New returns a Standby that reaches the two servers through the given pools.
func New(primary, standby *pgxpool.Pool, name schema.Name) (*Standby, error) {
	s := &Standby{MaxLag: maxLag, primary: primary, standby: standby}
	err := statement.Load(&s.sql, queries, "query", name.OrDefault().SQL)
	return s, err
}

// Pool returns the pool that connects to the standby.
func (s *Standby) Pool() *pgxpool.Pool { return s.standby }

// Changed records that reads must show the latest commits of the primary. The standby is not used
// until it has replayed them.
func (s *Standby) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
}

// Refuse makes all reads go to the primary for a few seconds. Call it when the standby does not
// answer a read.
func (s *Standby) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.until = State{Refused: "the standby did not answer the last request"}, time.Now().Add(refusedFor)
}

// Look returns the current state. It queries the servers only if the last result has expired, or if
// Changed was called while the standby was usable.
func (s *Standby) Look(ctx context.Context) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) && !(s.changed && s.state.Usable()) {
		return s.state
	}
	s.state = s.look(ctx)
	switch {
	case s.state.Usable():
		s.until = time.Now().Add(usedFor)
	case s.state.Refused == notYet:
		s.until = time.Now().Add(catchUp)
	default:
		s.until = time.Now().Add(refusedFor)
	}
	return s.state
}

// written is a row of query/primary.sql, and replayed is a row of query/standby.sql.
type (
	written struct {
		now      time.Time
		position int64
		server   server
	}
	replayed struct {
		follows   bool
		position  *int64
		committed *time.Time
		server    server
	}
	server struct {
		system   *int64
		timeline *int32
		started  time.Time
	}
)

// notYet is State.Refused for a standby that has not replayed an action of this process.
const notYet = "the standby has not replayed the last action yet"

// look queries both servers and returns the state.
func (s *Standby) look(ctx context.Context) State {
	var w written
	err := ask(ctx, s.sql.Primary, s.primary, &w.now, &w.position, &w.server.system, &w.server.timeline, &w.server.started)
	if err != nil {
		return State{Refused: "the primary does not report its position", Cause: err}
	}
	if s.changed {
		s.changed, s.needed = false, w.position
	}
	var r replayed
	err = ask(ctx, s.sql.Standby, s.standby, &r.follows, &r.position, &r.committed, &r.server.system, &r.server.timeline, &r.server.started)
	if err != nil {
		return State{Refused: "the standby does not answer", Cause: err}
	}
	if why := r.foreign(w); why != "" {
		return State{Refused: why}
	}
	if *r.position < s.needed {
		return State{Refused: notYet}
	}
	return r.behind(w, s.MaxLag)
}

// foreign returns the reason why the server is not a standby of the primary, or "".
func (r replayed) foreign(w written) string {
	switch {
	case r.server.system != nil && w.server.system != nil && *r.server.system != *w.server.system:
		return "database.read_url leads to another database system"
	case !r.follows && !r.server.started.Equal(w.server.started):
		return "database.read_url leads to a server that is not a standby"
	case r.server.timeline != nil && w.server.timeline != nil && *r.server.timeline > *w.server.timeline:
		return "the standby follows another primary"
	case r.position == nil:
		return "the standby does not report its replay position"
	}
	return ""
}

// behind returns the state of a standby with its lag. It refuses the standby if the lag exceeds
// `most`, or if the standby is behind and has not replayed any transaction. The lag is the
// difference between two times by the primary's clock.
func (r replayed) behind(w written, most time.Duration) State {
	if *r.position >= w.position {
		return State{}
	}
	if r.committed == nil {
		return State{Refused: "the standby has not replayed any transaction yet"}
	}
	lag := max(w.now.Sub(*r.committed), 0)
	if lag > most {
		return State{Refused: fmt.Sprintf("the standby is %s behind, and at most %s are allowed", behind(lag), behind(most))}
	}
	return State{Lag: lag}
}

func ask(ctx context.Context, question statement.Bound, pool *pgxpool.Pool, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return question.QueryRow(ctx, pool).Scan(into...)
}

// behind formats a lag, to tenths of a second below a minute.
func behind(lag time.Duration) string {
	if lag >= time.Minute {
		return clock.Roughly(lag)
	}
	return fmt.Sprintf("%.1f s", lag.Seconds())
}
