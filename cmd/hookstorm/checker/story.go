package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/internal/riverjob"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// told is the maximum number of violations per rule that get a story. Further stories rarely add
// anything.
const told = 5

// Story returns the records of a history that concern a key: source/event id, an effect's
// idempotency key, or a destination name. The records are in chronological order. A row of the
// snapshot has the time that it contains, if any, and not the time at which it was recorded.
func Story(file io.ReadSeeker, key string) ([]history.Record, error) {
	stories, err := stories(file, map[string][]int{key: {0}}, 1)
	if err != nil {
		return nil, fmt.Errorf("story of %s: %w", key, err)
	}
	return stories[0], nil
}

// tell adds stories to the first violations of each rule.
func (v *Verdict) tell(file io.ReadSeeker) error {
	concerned := make(map[string][]int) // violations by subject
	ofRule := make(map[Rule]int)
	for i := range v.Violations {
		violation := &v.Violations[i]
		ofRule[violation.Rule]++
		if ofRule[violation.Rule] > told {
			continue
		}
		for _, subject := range append([]string{violation.Key}, violation.also...) {
			concerned[subject] = append(concerned[subject], i)
		}
	}
	if len(concerned) == 0 {
		return nil
	}
	stories, err := stories(file, concerned, len(v.Violations))
	for i := range stories {
		v.Violations[i].Story = stories[i]
	}
	return err
}

// stories reads a history again and adds each record to the stories that it concerns.
func stories(file io.ReadSeeker, concerned map[string][]int, n int) ([][]history.Record, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read again: %w", err)
	}
	all := make([][]history.Record, n)
	last := make([]int64, n) // the number of each story's last record
	number, clock := int64(0), int64(0)
	for r, err := range history.Read(file) {
		if err != nil {
			return nil, err
		}
		number++
		if r.Table == tableClock {
			f := newFacts()
			if err := f.row(&r); err != nil {
				return nil, err
			}
			clock = f.clock
		}
		for _, subject := range subjects(&r) {
			for _, i := range concerned[subject] {
				if last[i] != number {
					last[i] = number
					all[i] = append(all[i], r)
				}
			}
		}
	}
	for _, story := range all {
		for i := range story {
			if happened := happenedAt(&story[i]); happened != 0 {
				story[i].At = int64(happened) + clock
			}
		}
		slices.SortStableFunc(story, func(a, b history.Record) int { return cmp.Compare(a.At, b.At) })
	}
	return all, nil
}

// happenedAt returns the time of the action that a row describes, or 0.
func happenedAt(r *history.Record) instant {
	var row struct {
		At        instant `json:"at"`
		Started   instant `json:"started_at"`
		Requested instant `json:"requested_at"`
		Received  instant `json:"received_at"`
	}
	if r.Op != history.OpTable || json.Unmarshal(r.Columns, &row) != nil {
		return 0
	}
	return cmp.Or(row.At, row.Started, row.Requested, row.Received)
}

func subjectOfDelivery(id string) string { return "delivery " + id }

func subjectOfDestination(name string) string { return "destination " + name }

// subjects returns the keys of the stories to which a record belongs.
func subjects(r *history.Record) []string {
	switch {
	case r.Delivery != nil:
		ids := make([]string, 0, len(r.Delivery.EventIDs))
		for _, id := range r.Delivery.EventIDs {
			ids = append(ids, r.Delivery.Source+"/"+id)
		}
		return ids
	case r.Call != nil:
		return []string{ownKey(r.Call.Key)}
	case r.Enqueue != nil:
		return []string{idOfEnqueue(r.Enqueue).IdempotencyKey()}
	case r.Order != nil:
		o := order{Order: *r.Order}
		return []string{o.target(), subjectOfDestination(r.Order.Destination)}
	case r.Op == history.OpTable:
		return subjectsOfRow(r)
	}
	return nil
}

// subjectsOfRow returns the keys of the stories to which a snapshot row belongs. An event's story
// contains links to its effects, but no other rows of its effects.
func subjectsOfRow(r *history.Record) []string {
	var row struct {
		identity.EffectID

		Source     string          `json:"source"`
		EventID    string          `json:"event_id"`
		DeliveryID string          `json:"delivery_id"`
		Target     string          `json:"target"`
		Name       string          `json:"name"`
		Latest     string          `json:"idempotency_key"`
		Kind       string          `json:"kind"`
		Args       json.RawMessage `json:"args"`
	}
	if json.Unmarshal(r.Columns, &row) != nil {
		return nil // Check returns an error for such a row
	}
	ref := row.Source + "/" + row.EventID
	switch r.Table {
	case tableEvents, tableReplays, tableHandled, tableWindows, tableCopies:
		return []string{ref}
	case tableDeliveries:
		return []string{subjectOfDelivery(row.DeliveryID)}
	case tableEffects, tableAttempts, tableTransitions:
		return []string{row.IdempotencyKey()}
	case tableLinks:
		return []string{ref, row.IdempotencyKey()}
	case tableOperatorLog:
		return []string{row.Target, subjectOfDestination(row.Target)}
	case tableObjects:
		return []string{row.Latest}
	case tableDestinations:
		return []string{row.Name, subjectOfDestination(row.Name)}
	case tableBooks:
		return []string{row.EventID, subjectOfBook(row.EventID)}
	case tableApplication:
		return []string{idOfEnqueue(&history.Enqueue{Destination: "direct", Key: string(row.Key)}).IdempotencyKey()}
	case tableJobs:
		return subjectsOfJob(row.Kind, row.Args)
	}
	return nil
}

func subjectOfBook(eventID string) string { return "book of " + eventID }

func subjectsOfJob(kind string, args json.RawMessage) []string {
	switch kind {
	case riverjob.KindDispatch:
		var a riverjob.DispatchArgs
		if json.Unmarshal(args, &a) == nil {
			return []string{a.Ref().String()}
		}
	case riverjob.KindEffect:
		var a riverjob.EffectArgs
		if json.Unmarshal(args, &a) == nil {
			return []string{a.ID().IdempotencyKey()}
		}
	}
	return nil
}
