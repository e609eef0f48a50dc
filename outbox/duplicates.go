package outbox

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
)

const (
	// countPause is the time for which duplicates are counted in memory before the counts are
	// written. A crash may lose the counts of that time.
	countPause = time.Second
	// maxCounted is the maximum number of events whose duplicates are counted in memory. Their
	// counts use at most about 8 MiB. Duplicates of further events are not counted.
	maxCounted = 16_384
	// keptTimes is the maximum number of duplicates per event whose times are kept.
	keptTimes = 16
)

// duplicateNote is an update to an event's row about its duplicates.
type duplicateNote struct {
	ref         identity.EventRef
	count       int64
	bodyDiffers bool
	webhook     bool        // at least one duplicate is a webhook
	times       []time.Time // times of the last duplicates, at most keptTimes
}

// add merges a later note into n.
func (n *duplicateNote) add(later duplicateNote) {
	n.count += later.count
	n.bodyDiffers = n.bodyDiffers || later.bodyDiffers
	n.webhook = n.webhook || later.webhook
	n.times = append(n.times, later.times...)
	n.times = slices.Delete(n.times, 0, max(len(n.times)-keptTimes, 0))
}

// duplicateCount gathers notes in memory, so that a storm of duplicates of one event updates the
// event's row only once a second.
type duplicateCount struct {
	offer  func(duplicateNote) bool // passes a note to the writer; false: try later
	runner *ondemand.Runner

	mu    sync.Mutex
	notes map[identity.EventRef]*duplicateNote
}

func newDuplicateCount(offer func(duplicateNote) bool) *duplicateCount {
	c := &duplicateCount{offer: offer, notes: make(map[identity.EventRef]*duplicateNote)}
	c.runner = ondemand.NewRunner(countPause, c.write)
	return c
}

// add counts a duplicate. It returns false if too many events are counted, or after Stop.
func (c *duplicateCount) add(ref identity.EventRef, bodyDiffers, webhook bool, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch known := c.notes[ref]; {
	case known != nil:
		known.add(duplicateNote{count: 1, bodyDiffers: bodyDiffers, webhook: webhook, times: []time.Time{at}})
	case len(c.notes) >= maxCounted:
		return false
	default:
		ref.EventID = identity.EventID(strings.Clone(string(ref.EventID))) // the id may be a slice of the body
		c.notes[ref] = &duplicateNote{ref: ref, count: 1, bodyDiffers: bodyDiffers, webhook: webhook, times: []time.Time{at}}
	}
	return c.runner.Wake()
}

// write passes the gathered notes to the writer. Notes that the writer does not accept wait for the
// next call.
func (c *duplicateCount) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ref, note := range c.notes {
		if !c.offer(*note) {
			c.runner.Wake()
			return
		}
		delete(c.notes, ref)
	}
}

// noteDuplicates counts duplicates on the rows of the events that they repeat. It does so in the
// background, because the response to a duplicate must not wait for a handler that has locked the
// row. The counts are informational; a crash, or a COMMIT without a response, may lose some.
func (o *Outbox) noteDuplicates(origin identity.Origin, a Acceptance) {
	for _, e := range a.Events {
		if e.Status != Duplicate {
			continue
		}
		ref := identity.EventRef{Source: e.Source, EventID: cmp.Or(e.SameAs, e.EventID)}
		if !o.counted.add(ref, e.BodyDiffers, origin != identity.Backfill, time.Now()) {
			o.logger.Debug("duplicate not counted", slog.String(logkey.Source, string(e.Source)), slog.String(logkey.EventID, string(e.EventID)))
		}
	}
}

type duplicatesRow struct {
	identity.EventRef

	Duplicates  int64
	BodyDiffers bool
	Webhook     bool
	SecondsAgo  string // ages of the last duplicates in seconds, separated by spaces
}

type noteDuplicates struct {
	Noted []duplicatesRow
	Kept  int // maximum number of duplicates per event whose times are kept
}

func (o *Outbox) noteDuplicateBatch(ctx context.Context, tx pgx.Tx, batch []duplicateNote) ([]struct{}, error) {
	notes := make(map[identity.EventRef]*duplicateNote, len(batch))
	for _, note := range batch {
		if known := notes[note.ref]; known != nil {
			known.add(note)
			continue
		}
		note.times = slices.Clone(note.times) // the batch may be tried again
		notes[note.ref] = &note
	}
	rows := make([]duplicatesRow, 0, len(notes))
	for ref, note := range notes {
		rows = append(rows, duplicatesRow{EventRef: ref, Duplicates: note.count, BodyDiffers: note.bodyDiffers, Webhook: note.webhook, SecondsAgo: secondsAgo(note.times)})
	}
	noted, err := o.sql.NoteDuplicates.With(noteDuplicates{Noted: rows, Kept: keptTimes}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("note duplicates: %w", err)
	}
	var source string
	var overtaken bool
	var sources []string
	if _, err := pgx.ForEachRow(noted, []any{&source, &overtaken}, func() error {
		if overtaken {
			sources = append(sources, source)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("note duplicates: %w", err)
	}
	if tx, ours := tx.(interface{ AfterCommit(f func()) }); ours {
		tx.AfterCommit(func() {
			for _, source := range sources {
				o.overtaken.Add(context.Background(), 1, metric.WithAttributes(attribute.String("source", source)))
			}
		})
	}
	return make([]struct{}, len(batch)), nil
}

// secondsAgo formats times for SQL as ages, because statements take no timestamps from
// callers.
func secondsAgo(times []time.Time) string {
	ago := make([]string, len(times))
	for i, at := range times {
		ago[i] = strconv.FormatFloat(max(time.Since(at).Seconds(), 0), 'f', 6, 64)
	}
	return strings.Join(ago, " ")
}
