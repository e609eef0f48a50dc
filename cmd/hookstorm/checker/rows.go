package checker

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// instant is a database time, in microseconds since 1970; 0 is NULL.
type instant int64

// UnmarshalJSON reads a timestamp as row_to_json writes it.
func (i *instant) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
	*i = instant(at.UnixMicro())
	return err
}

// The snapshot's rows, with the columns that the rules need.
type (
	eventRow struct {
		Source       string  `json:"source"`
		EventID      string  `json:"event_id"`
		AcceptSeq    int64   `json:"accept_seq"`
		DeliveryID   string  `json:"delivery_id"`
		Item         string  `json:"item"`
		Outcome      string  `json:"outcome"`
		Generation   int     `json:"generation"`
		Error        string  `json:"error"`
		AcceptanceID string  `json:"acceptance_id"`
		PayloadHash  string  `json:"payload_hash"`
		EventType    string  `json:"event_type"`
		ProcessedAt  instant `json:"processed_at"`
		ErasedAt     instant `json:"erased_at"`
		RedactedAt   instant `json:"redacted_at"`
		Origin       string  `json:"origin"`
	}
	bodyRow struct {
		DeliveryID string `json:"delivery_id"`
		Hash       string `json:"body_hash"`
		Size       int64  `json:"body_size"`
	}
	replayRow struct {
		Source          string `json:"source"`
		EventID         string `json:"event_id"`
		Generation      int    `json:"generation"`
		NewKeys         bool   `json:"new_keys"`
		PreviousOutcome string `json:"previous_outcome"`
	}
	effectRow struct {
		identity.EffectID

		IdempotencyKey string  `json:"idempotency_key"`
		Destination    string  `json:"destination"`
		Policy         string  `json:"policy"`
		Source         string  `json:"source"`
		EventID        string  `json:"event_id"`
		AcceptSeq      int64   `json:"accept_seq"`
		State          string  `json:"state"`
		Attempt        int     `json:"attempt"`
		DoubtSince     instant `json:"maybe_applied_since"`
		Error          string  `json:"error"`
		OrderKey       string  `json:"order_key"`
		LatestKey      string  `json:"latest_key"`
		OccurredAt     instant `json:"occurred_at"`
		SupersededBy   string  `json:"superseded_by"`
		KeyRotations   int     `json:"key_rotations"`
		Rendering      string  `json:"request_rendering"`
		RequestHash    string  `json:"request_hash"`
		ErasedAt       instant `json:"erased_at"`
	}
	linkRow struct {
		identity.EffectID

		Source     string `json:"source"`
		EventID    string `json:"event_id"`
		Suppressed bool   `json:"suppressed"`
	}
	attemptRow struct {
		Attempt     int     `json:"attempt"`
		StartedAt   instant `json:"started_at"`
		FinishedAt  instant `json:"finished_at"`
		Lost        bool    `json:"lost"`
		Applied     string  `json:"applied"`
		Status      int     `json:"response_status"`
		KeyRotation int     `json:"key_rotation"`
	}
	transitionRow struct {
		ID      int64   `json:"id"`
		From    string  `json:"from_state"`
		To      string  `json:"to_state"`
		Attempt int     `json:"attempt"`
		At      instant `json:"at"`
	}
	actionRow struct {
		Action string `json:"action"`
		Target string `json:"target"`
		Result string `json:"result"`
		Filter struct {
			Destination string `json:"destination"`
		} `json:"filter"`
	}
	objectRow struct {
		Scope      string  `json:"scope"`
		Key        string  `json:"latest_key"`
		OccurredAt instant `json:"occurred_at"`
		AcceptSeq  int64   `json:"accept_seq"`
		Effect     string  `json:"idempotency_key"`
	}
	windowRow struct {
		Source       string `json:"source"`
		Hash         string `json:"hash"`
		EventID      string `json:"event_id"`
		AcceptanceID string `json:"acceptance_id"`
	}
	copyRow struct {
		Source     string `json:"source"`
		EventID    string `json:"event_id"`
		DeliveryID string `json:"delivery_id"`
	}
	destinationRow struct {
		Name           string `json:"name"`
		Kind           string `json:"kind"`
		OperatorPaused bool   `json:"operator_paused"`
	}
	jobRow struct {
		Kind string          `json:"kind"`
		Args json.RawMessage `json:"args"`
	}
	handledRow struct {
		Source     string `json:"source"`
		EventID    string `json:"event_id"`
		Generation int    `json:"generation"`
	}
	clockRow struct {
		Now instant `json:"now"`
	}
)

// imported reports whether the event was imported from another system. Only its key is known.
func (r *eventRow) imported() bool { return r.Outcome == "imported" }

// fetched reports whether the event was fetched from its sender's list instead of delivered.
func (r *eventRow) fetched() bool { return r.Origin == "backfill" }

// row reads one row of a snapshot into the facts.
func (f *facts) row(r *history.Record) error {
	f.rows[r.Table]++
	take := map[string]func(*facts, *history.Record) error{
		tableEvents: (*facts).eventRow, tableDeliveries: (*facts).bodyRow, tableReplays: (*facts).replayRow,
		tableEffects: (*facts).effectRow, tableLinks: (*facts).linkRow, tableAttempts: (*facts).attemptRow, tableTransitions: (*facts).transitionRow,
		tableJobs: (*facts).jobRow,
	}[r.Table]
	if take == nil {
		take = (*facts).smallRow
	}
	if err := take(f, r); err != nil {
		return fmt.Errorf("read row of %s: %w", r.Table, err)
	}
	return nil
}

func (f *facts) eventRow(r *history.Record) error {
	row := new(eventRow)
	if err := json.Unmarshal(r.Columns, row); err != nil {
		return err
	}
	e := f.event(row.Source, row.EventID)
	e.row = row
	e.rows++
	return nil
}

func (f *facts) bodyRow(r *history.Record) error {
	var row bodyRow
	err := json.Unmarshal(r.Columns, &row)
	f.bodies[row.DeliveryID] = row
	return err
}

func (f *facts) replayRow(r *history.Record) error {
	var row replayRow
	if err := json.Unmarshal(r.Columns, &row); err != nil {
		return err
	}
	e := f.event(row.Source, row.EventID)
	e.replays = append(e.replays, row)
	return nil
}

func (f *facts) effectRow(r *history.Record) error {
	row := new(effectRow)
	if err := json.Unmarshal(r.Columns, row); err != nil {
		return err
	}
	e := f.effect(row.EffectID)
	e.row = row
	e.rows++
	return nil
}

func (f *facts) linkRow(r *history.Record) error {
	var row linkRow
	if err := json.Unmarshal(r.Columns, &row); err != nil {
		return err
	}
	from, to := f.event(row.Source, row.EventID), f.effect(row.EffectID)
	from.effects = append(from.effects, link{to, row.Suppressed})
	to.links = append(to.links, from)
	return nil
}

func (f *facts) attemptRow(r *history.Record) error {
	var row struct {
		identity.EffectID
		attemptRow
	}
	if err := json.Unmarshal(r.Columns, &row); err != nil {
		return err
	}
	e := f.effect(row.EffectID)
	e.attempts = append(e.attempts, row.attemptRow)
	return nil
}

func (f *facts) transitionRow(r *history.Record) error {
	var row struct {
		identity.EffectID
		transitionRow
	}
	if err := json.Unmarshal(r.Columns, &row); err != nil {
		return err
	}
	e := f.effect(row.EffectID)
	e.transitions = append(e.transitions, row.transitionRow)
	return nil
}

func (f *facts) jobRow(r *history.Record) error {
	var row jobRow
	if err := json.Unmarshal(r.Columns, &row); err != nil {
		return err
	}
	switch row.Kind {
	case riverjob.KindDispatch:
		var args riverjob.DispatchArgs
		if err := json.Unmarshal(row.Args, &args); err != nil {
			return err
		}
		f.event(string(args.Source), string(args.EventID)).jobs++
	case riverjob.KindEffect:
		var args riverjob.EffectArgs
		if err := json.Unmarshal(row.Args, &args); err != nil {
			return err
		}
		f.effect(args.ID()).jobs++
	}
	return nil
}

// smallRow reads a row of a small table or a table with few columns.
func (f *facts) smallRow(r *history.Record) error {
	switch r.Table {
	case tableOperatorLog:
		var row actionRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.logged[instruction{row.Action, row.Target}]++
		if run, begun := strings.CutSuffix(row.Result, " begins"); begun {
			f.bulk[run] = row
		}
	case tableObjects:
		var row objectRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.objects[object{row.Scope, row.Key}] = row
	case tableWindows:
		var row windowRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.windows = append(f.windows, row)
	case tableCopies:
		var row copyRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.copies = append(f.copies, row)
	case tableDestinations:
		var row destinationRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.destinations[row.Name] = row
	case tableBooks, tableHandled:
		var row handledRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		if r.Table == tableBooks {
			f.books[row.EventID]++
			return nil
		}
		e := f.event(row.Source, row.EventID)
		e.handled = append(e.handled, row.Generation)
	case tableApplication:
		var row struct {
			Key string `json:"key"`
		}
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.application[row.Key]++
	case tableClock:
		var row clockRow
		if err := json.Unmarshal(r.Columns, &row); err != nil {
			return err
		}
		f.clock = r.At - int64(row.Now)
	}
	return nil
}
