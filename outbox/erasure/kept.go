package erasure

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/payload"
)

// personal matches email addresses, and telephone numbers in international form. They identify a
// person in any text.
var personal = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|\+[0-9]{7,15}`)

const (
	// minSearched is the minimum length of a searched text, in bytes.
	minSearched = 3
	// maxPersonal limits the number of matches of personal that are taken from the payload.
	maxPersonal = 200
)

// kept returns an event's ids and keys that stay and contain a searched text, or an email address
// or telephone number from its payload.
func (e *Eraser) kept(ctx context.Context, tx pgx.Tx, event lockedEvent, made []madeEffect, searched []string) ([]Kept, error) {
	_, body, err := e.storedDelivery(ctx, tx, event.delivery())
	if err != nil {
		return nil, err
	}
	texts := slices.Clip(searched) // the next event uses the same slice, so append must copy it
	for _, found := range personal.FindAll(payload.Part(body, event.item), maxPersonal) {
		texts = append(texts, string(found))
	}
	var kept []Kept
	keep := func(where, text string) {
		if k := (Kept{where, text}); namesPerson(text, texts) {
			kept = append(kept, k)
		}
	}
	keep("event id", string(event.ref.EventID))
	for _, m := range made {
		if string(m.id.Key) != string(event.ref.EventID) {
			keep("key of effect", string(m.id.Key))
		}
		keep("key of latest_by", m.objectKey)
	}
	return kept, nil
}

// namesPerson reports whether a text contains one of the texts that identify a person.
func namesPerson(text string, texts []string) bool {
	for _, t := range texts {
		if len(t) >= minSearched && strings.Contains(strings.ToLower(text), strings.ToLower(t)) {
			return true
		}
	}
	return false
}
