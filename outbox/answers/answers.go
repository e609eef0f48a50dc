// Package answers reads how one destination does: its latest responses, and how much
// waits for it. It reads a bounded number of rows, and says how many it looked at.
package answers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/pipeline"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	// MostWaiting is up to how many waiting effects are counted.
	MostWaiting = 10_000
	// newest is how many of the effects of all destinations are looked at, and aside how
	// many that wait, failed or are parked, of each.
	newest, aside = 2_000, 500
	// window is how far back answers are counted.
	window = time.Hour
	// maxSaid bounds what is read of an error.
	maxSaid = 300
)

// Reader reads them. It is safe for concurrent use.
type Reader struct {
	db  pipeline.ByIndex
	sql statements
}

// NewReader returns a Reader on a migrated database.
func NewReader(pool *pgxpool.Pool, name schema.Name) (*Reader, error) {
	if pool == nil {
		return nil, errors.New("answers: a pool is required")
	}
	sql, err := loadStatements(name.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	return &Reader{db: pipeline.ByIndex{Sender: pool, InOrder: true}, sql: sql}, nil
}

// Attempt is the last one of an effect.
type Attempt struct {
	Effect string // idempotency key
	State  ledger.EffectState
	At     time.Time
	Answer string // the status, or the error without what is different each time
}

// Group is how many effects got one answer, and what state that left them in.
type Group struct {
	Answer string
	State  ledger.EffectState
	Count  int
}

// Lately is how a destination does.
type Lately struct {
	// Attempts are the last ones of effects, the newest first.
	Attempts []Attempt
	// Groups are the answers of the last hour among them, the most frequent first.
	Groups []Group
	// All: no attempt of the last hour was left out.
	All bool

	Waiting   int       // unfinished effects, MostWaiting+1 at most
	OldestDue time.Time // of those that are due. Zero: none is.
}

// Of reads how a destination does.
func (r *Reader) Of(ctx context.Context, destination string) (Lately, error) {
	var l Lately
	var due *time.Time
	err := r.sql.Waiting.With(waiting{Destination: destination, Most: MostWaiting + 1}).QueryRow(ctx, r.db).Scan(&l.Waiting, &due)
	if err != nil {
		return l, fmt.Errorf("count what waits for %s: %w", destination, err)
	}
	l.OldestDue = column.OrZero(due)
	rows, err := r.sql.Attempts.With(attempts{
		Destination: destination, Newest: newest, Aside: aside, Said: maxSaid, WindowSeconds: window.Seconds(),
	}).Query(ctx, r.db)
	if err != nil {
		return l, fmt.Errorf("read the attempts at %s: %w", destination, err)
	}
	counted := map[Group]int{}
	var a Attempt
	var status *int
	var said string
	var lately bool
	_, err = pgx.ForEachRow(rows, []any{&a.Effect, &a.State, &a.At, &status, &said, &lately, &l.All}, func() error {
		a.Answer = Class(column.OrZero(status), a.State, said)
		l.Attempts = append(l.Attempts, a)
		if lately {
			counted[Group{Answer: a.Answer, State: a.State}]++
		}
		return nil
	})
	if err != nil {
		return l, fmt.Errorf("read the attempts at %s: %w", destination, err)
	}
	for group, n := range counted {
		group.Count = n
		l.Groups = append(l.Groups, group)
	}
	slices.SortFunc(l.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Answer, b.Answer), cmp.Compare(a.State, b.State))
	})
	return l, nil
}

// Class is what many attempts have in common that were answered with a status, or ended
// with an error: addresses and what else differs each time stand before its last colon.
func Class(status int, state ledger.EffectState, said string) string {
	if status != 0 {
		return strconv.Itoa(status)
	}
	if at := strings.LastIndex(said, ": "); at >= 0 {
		said = said[at+2:]
	}
	switch said = strings.TrimSpace(said); {
	case said != "":
		return said
	case state == ledger.EffectDone:
		return "done"
	case state == ledger.EffectStarted:
		return "no answer yet"
	}
	return "no answer"
}
