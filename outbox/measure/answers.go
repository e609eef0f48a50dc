package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

const (
	// MostWaiting is the largest number of unfinished effects that Answers counts exactly.
	MostWaiting = 10_000
	// newestAttempts is the number of newest effects that Answers reads over all destinations.
	// attemptsAside is the maximum number of the destination's own effects that Answers reads from
	// each of three groups: unfinished without an order, failed, and parked.
	newestAttempts, attemptsAside = 2_000, 500
	// answersWindow is the period for which responses are counted.
	answersWindow = time.Hour
	// maxSaid is the maximum number of characters of an error that Answers reads.
	maxSaid = 300
)

// LastAttempt is the latest attempt of an effect.
type LastAttempt struct {
	Effect string // idempotency key
	State  ledger.EffectState
	At     time.Time
	Answer string // status, or the error without its variable parts
}

// AnswerGroup counts the effects that got the same response and are in the same state.
type AnswerGroup struct {
	Answer string
	State  ledger.EffectState
	Count  int
}

// Answers holds a destination's latest responses and the number of effects waiting for it.
type Answers struct {
	// Attempts are the latest attempts of effects, newest first.
	Attempts []LastAttempt
	// Groups counts the responses of the last hour, the most frequent first.
	Groups []AnswerGroup
	// All is true if Answers read the last attempt of every effect created in the last hour.
	All bool

	Waiting   int       // unfinished effects, at most MostWaiting+1
	OldestDue time.Time // due time of the longest waiting effect without an order. Zero: none is due
}

// Answers reads a destination's latest responses and the number of effects waiting for it.
func (r *Reader) Answers(ctx context.Context, destination string) (Answers, error) {
	var l Answers
	var due *time.Time
	err := r.sql.WaitingFor.With(waitingFor{Destination: destination, Most: MostWaiting + 1}).QueryRow(ctx, r.db).Scan(&l.Waiting, &due)
	if err != nil {
		return l, fmt.Errorf("count effects waiting for %s: %w", destination, err)
	}
	l.OldestDue = column.OrZero(due)
	rows, err := r.sql.Attempts.With(attempts{
		Destination: destination, Newest: newestAttempts, Aside: attemptsAside, Said: maxSaid, WindowSeconds: answersWindow.Seconds(),
	}).Query(ctx, r.db)
	if err != nil {
		return l, fmt.Errorf("read the attempts at %s: %w", destination, err)
	}
	counted := map[AnswerGroup]int{}
	var a LastAttempt
	var status *int
	var said string
	var lately bool
	_, err = pgx.ForEachRow(rows, []any{&a.Effect, &a.State, &a.At, &status, &said, &lately, &l.All}, func() error {
		if a.Effect == "" {
			return nil // there is no attempt, and this row contains only All
		}
		a.Answer = class(column.OrZero(status), a.State, said)
		l.Attempts = append(l.Attempts, a)
		if lately {
			counted[AnswerGroup{Answer: a.Answer, State: a.State}]++
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
	slices.SortFunc(l.Groups, func(a, b AnswerGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Answer, b.Answer), cmp.Compare(a.State, b.State))
	})
	return l, nil
}

// class returns the common description of attempts with this status or error. The variable parts of
// an error, such as addresses, are before its last colon.
func class(status int, state ledger.EffectState, said string) string {
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
