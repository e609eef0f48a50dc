package find

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// bodiesAtOnce is how many bodies are read at once: none of them is large, since large
// ones are read alone.
const bodiesAtOnce = 100

// judge asks Match about candidates.
type judge struct {
	*Finder

	match      Match
	unclear    int
	whyUnclear error
	bodiless   int
}

func (b *Finder) judgeBy(m *Match) *judge {
	if m == nil {
		return nil
	}
	return &judge{Finder: b, match: *m}
}

// judged returns which candidates match, at most limit of them, and how many it went
// through until then or until the budget was spent. That is one at least, if there is
// one.
func judged[Ref comparable](ctx context.Context, j *judge, all []candidate[Ref], limit int, spent func() bool) (matching []candidate[Ref], through int, err error) {
	for through < len(all) && len(matching) < limit && (through == 0 || !spent()) {
		some := all[through:min(through+bodiesAtOnce, len(all))]
		asked, err := held(ctx, j, some)
		if err != nil {
			return nil, 0, err
		}
		events, err := j.inbox.EventsWhole(ctx, refsOf(asked))
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
			if e := events[c.event]; e != nil && j.yes(e) {
				if matching = append(matching, c); len(matching) == limit {
					break
				}
			}
		}
	}
	return matching, through, nil
}

// yes tells whether an event matches.
func (j *judge) yes(e *inbox.Event) bool {
	if e.Body == nil || !e.ErasedAt.IsZero() { // what is left of a body says nothing of it
		j.bodiless++
		return false
	}
	yes, err := j.match.By(e)
	if err != nil {
		j.unclear++
		j.whyUnclear = cmp.Or(j.whyUnclear, err)
		return false
	}
	return yes
}

// refsOf are the events of candidates, each once.
func refsOf[Ref comparable](candidates []candidate[Ref]) []identity.EventRef {
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

// askedBody is a body that may hold a text.
type askedBody struct {
	Number     int
	DeliveryID uuid.UUID
	ReceivedAt time.Time
}

type holding struct {
	Asked []askedBody
	Text  []byte
}

// held leaves out the candidates whose bodies cannot match, which the server finds out
// without sending them.
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
