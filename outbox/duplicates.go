package outbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/logkey"
)

// duplicateNote is what the row of an event is told about a duplicate of it.
type duplicateNote struct {
	ref         identity.EventRef
	bodyDiffers bool
}

// noteDuplicates counts duplicates on the rows they repeat, after the answer:
// waiting for the row would make a duplicate wait for a handler that has it
// locked. The counts are for people; a crash may lose some.
func (o *Outbox) noteDuplicates(a Acceptance) {
	for _, e := range a.Events {
		if e.Status != Duplicate {
			continue
		}
		if !o.duplicates.Offer(duplicateNote{ref: identity.EventRef{Source: e.Source, EventID: cmp.Or(e.SameAs, e.EventID)}, bodyDiffers: e.BodyDiffers}) {
			o.logger.Debug("duplicate not counted", slog.String(logkey.Source, string(e.Source)), slog.String(logkey.EventID, string(e.EventID)))
		}
	}
}

type duplicatesRow struct {
	identity.EventRef

	Duplicates  int64
	BodyDiffers bool
}

type noteDuplicates struct{ Noted []duplicatesRow }

func (o *Outbox) noteDuplicateBatch(ctx context.Context, tx pgx.Tx, batch []duplicateNote) ([]struct{}, error) {
	index := make(map[identity.EventRef]int, len(batch))
	var noted []duplicatesRow
	for _, note := range batch {
		i, seen := index[note.ref]
		if !seen {
			i = len(noted)
			index[note.ref] = i
			noted = append(noted, duplicatesRow{EventRef: note.ref})
		}
		noted[i].Duplicates++
		noted[i].BodyDiffers = noted[i].BodyDiffers || note.bodyDiffers
	}
	if _, err := o.sql.NoteDuplicates.With(noteDuplicates{Noted: noted}).Exec(ctx, tx); err != nil {
		return nil, fmt.Errorf("note duplicates: %w", err)
	}
	return make([]struct{}, len(batch)), nil
}
