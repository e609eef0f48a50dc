package checker

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// content is an event's body, with its source.
type content struct {
	source identity.Source
	hash   string
}

// storedContents returns the bodies of the stored events, for sources that deduplicate by
// content.
func (j *judge) storedContents() map[content]bool {
	if j.contents == nil {
		j.contents = make(map[content]bool)
		for _, e := range j.events {
			if e.row != nil && isByContent(string(e.ref.Source)) {
				j.contents[content{e.ref.Source, e.row.PayloadHash}] = true
			}
		}
	}
	return j.contents
}

// isByContent reports whether a repeated body of the source is a duplicate.
func isByContent(source string) bool {
	for _, s := range scenario.Sources() {
		if s.Name == source {
			return s.Content
		}
	}
	return false
}

// repeats reports whether the delivery's source deduplicates by content and the delivery's body is
// stored with an event of any id.
func (j *judge) repeats(d *delivery) bool {
	return j.storedContents()[content{identity.Source(d.source), d.hash}]
}

// contentOf returns the hash that an event's content window contains. The hash covers the body and
// the type.
func contentOf(row *eventRow) string {
	hash, err := hex.DecodeString(row.PayloadHash)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append(hash, row.EventType...))
	return hex.EncodeToString(sum[:])
}

// windowsOfStored checks I1 for sources that deduplicate by content. Each content window belongs to
// an event that is stored with the window's body. While the window is open, the gateway
// acknowledges repeats of this body.
func (j *judge) windowsOfStored() {
	for _, w := range j.windows {
		e := j.event(w.Source, w.EventID)
		switch {
		case e.row == nil:
			j.eventViolatedf("I1", e, "a window is open for the event, but the event is not stored")
		case e.row.AcceptanceID != w.AcceptanceID || w.Hash != e.row.PayloadHash && w.Hash != contentOf(e.row): // earlier releases hashed the body only
			j.eventViolatedf("I1", e, "a window is open for the content %s, but the event is stored with %s", short(w.Hash), short(contentOf(e.row)))
		}
	}
}
