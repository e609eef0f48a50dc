package outbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/recent"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// knownAgain returns a result without a query if this process or the shared memory has recorded
// every event of the delivery as committed. Each event must be recorded with the proof and content
// of the delivery's replay guard, or without a proof if the delivery has none. Deliveries with a
// content window always need the database.
func (o *Outbox) knownAgain(ctx context.Context, d Delivery) (_ Acceptance, ok bool) {
	if d.ContentWindow > 0 {
		return Acceptance{}, false
	}
	known, ok := o.committed(ctx, d)
	if !ok {
		return Acceptance{}, false
	}
	guard := d.ReplayGuard.fingerprint()
	events := make([]AcceptedEvent, len(d.Events))
	for i, in := range d.Events {
		if known[i].Guard != guard {
			return Acceptance{}, false
		}
		events[i] = AcceptedEvent{
			EventRef: identity.EventRef{Source: d.Source, EventID: in.ID}, Type: in.Type, Status: Duplicate,
			AcceptanceID: known[i].AcceptanceID, FirstReceivedAt: known[i].ReceivedAt,
			BodyDiffers: known[i].Hash != [sha256.Size]byte{} && sha256.Sum256(in.part(d.Body)) != known[i].Hash,
		}
	}
	return Acceptance{Events: events}, true
}

// committed returns all events of a delivery if every one of them is recorded as committed.
func (o *Outbox) committed(ctx context.Context, d Delivery) (events []recent.Event, ok bool) {
	events = make([]recent.Event, len(d.Events))
	var others []identity.EventRef
	var at []int // for each event in others, its index in the delivery
	for i, in := range d.Events {
		ref := identity.EventRef{Source: d.Source, EventID: in.ID}
		if events[i], ok = o.recent.Find(ref); ok {
			continue
		}
		if o.shared == nil {
			return nil, false
		}
		others, at = append(others, ref), append(at, i)
	}
	if len(others) == 0 {
		return events, true
	}
	found, ok := o.shared.find(ctx, others)
	for i, e := range found {
		events[at[i]] = e
	}
	return events, ok
}

// remember keeps committed events for knownAgain. The caller reads the database's life before the
// transaction begins, and calls remember only after a confirmed COMMIT.
func (o *Outbox) remember(in recent.Life, d Delivery, came Acceptance) {
	if d.ContentWindow > 0 {
		return
	}
	guard := d.ReplayGuard.fingerprint()
	for _, e := range came.Events {
		if e.Status == Accepted || e.Status == Duplicate {
			known := recent.Event{AcceptanceID: e.AcceptanceID, ReceivedAt: e.FirstReceivedAt, Guard: guard}
			copy(known.Hash[:], e.hash)
			o.recent.Keep(in, e.EventRef, known)
			o.shared.keep(in, e.EventRef, known)
		}
	}
}

// fingerprint returns a hash of the proof and content that a guard remembers about a delivery. If a
// stored fingerprint is equal, the guard has nothing new to record. The fingerprint is zero for a
// nil guard, and for a guard without a proof.
func (g *ReplayGuard) fingerprint() (sum [sha256.Size]byte) {
	if g == nil || len(g.Proof) == 0 {
		return sum
	}
	var text bytes.Buffer
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(g.Proof)))
	text.Write(length[:])
	text.Write(g.Proof)
	text.Write(g.Content)
	return sha256.Sum256(text.Bytes())
}

// databaseLife queries the database's current life: see recent.Life. If the outbox has a shared
// memory, which other programs may read and write, the life's name contains a secret.
func (o *Outbox) databaseLife(ctx context.Context) (life string, err error) {
	err = o.acceptDB.Statement("database_life", func(db pipeline.ByIndex) error {
		if err := o.sql.DatabaseLife.QueryRow(ctx, db).Scan(&life); err != nil || o.shared == nil {
			return err
		}
		var secret []byte
		err := o.sql.InstallationSecret.QueryRow(ctx, db).Scan(&secret)
		life += fmt.Sprintf(" %x", secret)
		return err
	})
	return life, err
}

// missDatabaseLife logs that the query of databaseLife failed. Every duplicate is then looked up in
// the database.
func (o *Outbox) missDatabaseLife(err error) {
	o.logger.Debug("duplicates are looked up in the database, because its identity is unknown", slog.Any(logkey.Err, err))
}
