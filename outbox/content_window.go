package outbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// eventAt is the position of an event in a batch.
type eventAt struct{ arrival, event int }

// repeated is a stored event whose content another event repeats.
type repeated struct {
	id           identity.EventID
	acceptanceID uuid.UUID
	receivedAt   time.Time // zero for an event of the same batch
}

// contentWindows are the content windows of a batch. An event opens a window when it is stored and
// not held. An event with the same content that arrives within the window is acknowledged, but not
// stored. The zero value describes a batch without windows.
type contentWindows struct {
	// known contains the batch's events that were stored before, for sources with a content window.
	known map[identity.EventRef]knownEvent
	// tentative contains the windows that this transaction opened before it determined which of its
	// events are new.
	tentative map[guardKey]eventAt
	// open contains the open windows of stored events, including events that this batch stores.
	open map[guardKey]repeated
	// openers contains the new events of this batch that open a window.
	openers map[guardKey]eventAt
	// repeats contains the events that repeat another event's content.
	repeats map[eventAt]repeated
}

type windowRow struct {
	contentKey

	EventID       identity.EventID
	AcceptanceID  uuid.UUID
	WindowSeconds float64    // zero closes the window
	ArrivedAt     *time.Time // beginning of the window; nil: the transaction's time
}

type contentRow struct {
	contentKey

	WindowSeconds float64
	ArrivedAt     *time.Time
}

type contentGuard struct{ Contents []windowRow }

type contentGuards struct{ Contents []contentRow }

type moveContentGuards struct{ Contents []windowRow }

// contentKey returns the key of an event's content. The type is part of the content: some senders name
// the type in a header, and send one body under several types.
func (a arrival) contentKey(j int) guardKey {
	return guardKey{source: a.Source, hash: sha256.Sum256(append(slices.Clone(a.hashes[j]), a.Events[j].Type...))}
}

// contentKeys returns the keys of the windows that an event looks for and may open. Events with
// equal content share one window. An event of the past must not move this window back: otherwise
// equal events that arrive now would be stored. Events of the past therefore also share a second
// window, which no other event uses and which they may move back. The second window is locked like
// the first, but changes only when an event opens it.
func (a arrival) contentKeys(j int) []guardKey {
	key := a.contentKey(j)
	if !a.fromPast() {
		return []guardKey{key}
	}
	return []guardKey{key, {source: key.source, hash: sha256.Sum256(append(key.hash[:], "past"...))}}
}

// fromPast reports whether the delivery's content windows begin at a time in the past.
func (a arrival) fromPast() bool { return a.ContentWindow > 0 && !a.ArrivedAt.IsZero() }

func (a arrival) window(key guardKey, j int) windowRow {
	return windowRow{
		contentKey: key.argument(), EventID: a.Events[j].ID, AcceptanceID: a.acceptanceIDs[j],
		WindowSeconds: a.ContentWindow.Seconds(), ArrivedAt: column.KnownTime(a.ArrivedAt),
	}
}

// openWindows opens a tentative window for each content that occurs in the batch and may be new.
// The window locks the content against concurrent transactions. openWindows then reads the windows
// that are already open. An event whose id is already stored opens no window, because its body will
// not be stored. Refused events, and held events, which might never be dispatched, open no window
// either.
func (o *Outbox) openWindows(ctx context.Context, tx pgx.Tx, batch []arrival, replayed map[int]verdict) (contentWindows, error) {
	var at []eventAt
	refs := make(map[identity.EventRef]bool)
	for i, a := range batch {
		if a.ContentWindow <= 0 || replayed[i].action == ReplayRefuse {
			continue
		}
		for j, in := range a.Events {
			at = append(at, eventAt{i, j})
			refs[identity.EventRef{Source: a.Source, EventID: in.ID}] = true
		}
	}
	if len(at) == 0 {
		return contentWindows{}, nil
	}
	w := contentWindows{
		known: make(map[identity.EventRef]knownEvent), tentative: make(map[guardKey]eventAt),
		openers: make(map[guardKey]eventAt), repeats: make(map[eventAt]repeated),
	}
	if err := o.lookUpEvents(ctx, tx, refs, w.known); err != nil {
		return contentWindows{}, err
	}
	first := make(map[guardKey]eventAt)
	asked, locked := make(map[guardKey]bool), make(map[guardKey]bool)
	var windows []windowRow
	var contents []contentRow
	for _, e := range at {
		a := batch[e.arrival]
		if _, known := w.known[identity.EventRef{Source: a.Source, EventID: a.Events[e.event].ID}]; known {
			continue
		}
		for i, key := range a.contentKeys(e.event) {
			window := a.window(key, e.event)
			if !asked[key] {
				asked[key] = true
				contents = append(contents, contentRow{contentKey: window.contentKey, WindowSeconds: window.WindowSeconds, ArrivedAt: window.ArrivedAt})
			}
			if locked[key] || replayed[e.arrival].action == ReplayHold {
				continue
			}
			locked[key] = true
			if i > 0 {
				window.ArrivedAt, window.WindowSeconds = &time.Time{}, 0
			} else {
				first[key] = e
			}
			windows = append(windows, window)
		}
	}
	if len(windows) > 0 {
		rows, err := o.sql.ContentGuard.With(contentGuard{Contents: windows}).Query(ctx, tx)
		if err != nil {
			return contentWindows{}, fmt.Errorf("guard against repeated content: %w", err)
		}
		var key guardKey
		var hash []byte
		if _, err := pgx.ForEachRow(rows, []any{&key.source, &hash}, func() error {
			key.hash = [sha256.Size]byte(hash)
			if at, found := first[key]; found {
				w.tentative[key] = at
			}
			return nil
		}); err != nil {
			return contentWindows{}, fmt.Errorf("guard against repeated content: %w", err)
		}
	}
	var err error
	w.open, err = o.readWindows(ctx, tx, contents)
	return w, err
}

// readWindows returns the open windows of the given contents. It omits windows whose event is not
// stored.
func (o *Outbox) readWindows(ctx context.Context, tx pgx.Tx, contents []contentRow) (map[guardKey]repeated, error) {
	open := make(map[guardKey]repeated)
	if len(contents) == 0 {
		return open, nil
	}
	rows, err := o.sql.ContentGuards.With(contentGuards{Contents: contents}).Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("look up repeated content: %w", err)
	}
	var key guardKey
	var hash []byte
	var r repeated
	if _, err := pgx.ForEachRow(rows, []any{&key.source, &hash, &r.id, &r.acceptanceID, &r.receivedAt}, func() error {
		key.hash = [sha256.Size]byte(hash)
		open[key] = r
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look up repeated content: %w", err)
	}
	return open, nil
}

// admit reports whether the content windows allow the event at a position to be stored. The caller
// passes the events in batch order. Once admit has returned true for an id, the caller passes no
// other event with that id.
func (w contentWindows) admit(batch []arrival, at eventAt, held bool) bool {
	a := batch[at.arrival]
	if a.ContentWindow <= 0 {
		return true
	}
	id := a.Events[at.event].ID
	if _, known := w.known[identity.EventRef{Source: a.Source, EventID: id}]; known {
		return false
	}
	keys := a.contentKeys(at.event)
	for _, key := range keys {
		if r, open := w.open[key]; open {
			w.repeats[at] = r
			return false
		}
	}
	if held {
		return true
	}
	for i, key := range keys {
		w.open[key] = repeated{id: id, acceptanceID: a.acceptanceIDs[at.event]}
		if _, opened := w.tentative[key]; opened || i == len(keys)-1 {
			w.openers[key] = at
		}
	}
	return true
}

// moveWindows assigns each tentative window to the event that is stored, or closes the window if no
// event is stored. It also takes over older windows whose event is no longer stored. Most batches
// need no such change.
func (o *Outbox) moveWindows(ctx context.Context, tx pgx.Tx, batch []arrival, w contentWindows) error {
	var windows []windowRow
	for key, at := range w.tentative {
		if _, opened := w.openers[key]; !opened {
			closed := batch[at.arrival].window(key, at.event)
			closed.WindowSeconds = 0
			windows = append(windows, closed)
		}
	}
	for key, at := range w.openers {
		if tentative, opened := w.tentative[key]; !opened || tentative != at {
			windows = append(windows, batch[at.arrival].window(key, at.event))
		}
	}
	if len(windows) == 0 {
		return nil
	}
	if _, err := o.sql.MoveContentGuards.With(moveContentGuards{Contents: windows}).Exec(ctx, tx); err != nil {
		return fmt.Errorf("move guards against repeated content: %w", err)
	}
	return nil
}

// requireOpeners returns an error if an event that opened a window was already stored by a
// concurrent transaction, perhaps with another body. The next try finds that event.
func (w contentWindows) requireOpeners(batch []arrival, rows *acceptRows, first map[identity.EventRef]int) error {
	for _, at := range w.openers {
		a := batch[at.arrival]
		if row := first[identity.EventRef{Source: a.Source, EventID: a.Events[at.event].ID}]; rows.inserted[row].receivedAt.IsZero() {
			return fmt.Errorf("guard against repeated content: %w", commit.ErrTryAgain)
		}
	}
	return nil
}
