package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// bodiesAtOnce is the number of events whose bodies are read together. Large bodies are read one by
// one.
const bodiesAtOnce = 100

// judge applies Match to candidates.
type judge struct {
	*Finder

	match      Match
	tells      bool // undecided candidates are returned too, with the reason
	unclear    int
	whyUnclear error
	bodiless   int
}

// judgeOf returns the judge for a filter's content, and the budget of a page. The judge is nil if
// the content selects everything. Errors: *ConditionError.
func (f *Finder) judgeOf(ctx context.Context, c Content) (*judge, budget, error) {
	m, err := f.match(ctx, c)
	if m == nil || err != nil {
		return nil, f.plain, err
	}
	return &judge{Finder: f, match: *m}, f.matched, nil
}

// telling changes j to return undecided candidates too.
func (j *judge) telling() *judge {
	if j != nil {
		j.tells = true
	}
	return j
}

// judged returns the matching candidates, and with j.tells also the undecided candidates, at most
// limit in total. It stops when the budget is spent, but judges at least one candidate. through is
// the number of judged candidates.
func judged[Ref comparable](ctx context.Context, j *judge, all []candidate[Ref], limit int, spent func() bool) (matching []candidate[Ref], through int, err error) {
	for through < len(all) && len(matching) < limit && (through == 0 || !spent()) {
		some := all[through:min(through+bodiesAtOnce, len(all))]
		asked, err := held(ctx, j, some)
		if err != nil {
			return nil, 0, err
		}
		events, err := j.inbox.EventsWhole(ctx, eventsOf(asked))
		if err != nil {
			return nil, 0, fmt.Errorf("read bodies: %w", err)
		}
		for _, c := range some {
			if through > 0 && spent() { // a condition may take a quarter of a second
				return matching, through, nil
			}
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			through++
			e, err := events.Get(ctx, c.event)
			if err != nil {
				return nil, 0, fmt.Errorf("read a body: %w", err)
			}
			if e == nil {
				continue
			}
			var yes bool
			yes, c.unclear = j.decide(e)
			if yes || j.tells && c.unclear != nil {
				if matching = append(matching, c); len(matching) == limit {
					break
				}
			}
		}
	}
	return matching, through, nil
}

// ErrBodiless is the value of Found.Unclear if an event's body is no longer stored or was erased.
var ErrBodiless = errors.New("its body is no longer stored")

// decide reports whether an event matches. If decide cannot tell, it counts the event and returns
// the reason as an error.
func (j *judge) decide(e *inbox.Event) (bool, error) {
	if e.Body == nil || !e.ErasedAt.IsZero() {
		j.bodiless++
		return false, ErrBodiless
	}
	yes, err := j.match.By(e)
	if err != nil {
		j.unclear++
		j.whyUnclear = cmp.Or(j.whyUnclear, err)
	}
	return yes && err == nil, err
}

// eventsOf returns the events of candidates without repetitions.
func eventsOf[Ref comparable](candidates []candidate[Ref]) []identity.EventRef {
	var refs []identity.EventRef
	seen := make(map[identity.EventRef]bool, len(candidates))
	for _, c := range candidates {
		if c.event != (identity.EventRef{}) && !seen[c.event] {
			seen[c.event] = true
			refs = append(refs, c.event)
		}
	}
	return refs
}

// askedBody identifies a body in which Postgres is to search for the text.
type askedBody struct {
	Number     int
	DeliveryID uuid.UUID
	ReceivedAt time.Time
}

type holding struct {
	Asked []askedBody
	Text  []byte
}

// held returns the candidates whose bodies may match, in any order. Postgres searches the bodies
// for the text without sending them.
func held[Ref comparable](ctx context.Context, j *judge, all []candidate[Ref]) ([]candidate[Ref], error) {
	if j.match.Text == "" {
		return all, nil
	}
	asked := holding{Text: []byte(j.match.Text)}
	var left []candidate[Ref]
	for i, c := range all {
		if c.deliveryID == uuid.Nil {
			left = append(left, c)
			continue
		}
		asked.Asked = append(asked.Asked, askedBody{Number: i, DeliveryID: c.deliveryID, ReceivedAt: c.place.at})
	}
	if len(asked.Asked) == 0 {
		return left, nil
	}
	rows, err := j.sql.Holding.With(asked).Query(ctx, j.look)
	if err != nil {
		return nil, fmt.Errorf("search bodies: %w", err)
	}
	var number int
	_, err = pgx.ForEachRow(rows, []any{&number}, func() error {
		left = append(left, all[number])
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search bodies: %w", err)
	}
	return left, nil
}
