package whatif

import (
	"fmt"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// mostKeys is the maximum number of keys that a Report keeps in memory.
const mostKeys = 1 << 20

// Together counts the effects gone and added for all compared events together. The ledger creates
// an effect only for the first event with its key, so events that share keys have fewer effects
// than planned.
type Together struct {
	Gone  int `json:"gone"`
	Added int `json:"added"`
}

// keys contains the keys that the plans of the compared events have.
type keys struct {
	of      map[identity.EffectID]sides
	planned Together // counts as if events shared no keys
	tooMany bool
}

// sides says which configurations plan an effect with a key.
type sides struct{ old, new bool }

func (k *keys) add(before, after []ledger.NewEffect) {
	old, next := map[identity.EffectID]bool{}, map[identity.EffectID]bool{}
	for i := range before {
		old[before[i].EffectID] = true
		k.note(before[i].EffectID, sides{old: true})
	}
	for i := range after {
		next[after[i].EffectID] = true
		k.note(after[i].EffectID, sides{new: true})
	}
	for id := range old {
		if !next[id] {
			k.planned.Gone++
		}
	}
	for id := range next {
		if !old[id] {
			k.planned.Added++
		}
	}
}

func (k *keys) note(id identity.EffectID, by sides) {
	known, is := k.of[id]
	if k.tooMany = k.tooMany || !is && len(k.of) >= mostKeys; k.tooMany {
		k.of = nil
		return
	}
	k.of[id] = sides{old: known.old || by.old, new: known.new || by.new}
}

// together returns the counts of all events together, or nil if there were too many keys.
func (k *keys) together() *Together {
	if k.tooMany {
		return nil
	}
	var t Together
	for _, by := range k.of {
		switch {
		case !by.old:
			t.Added++
		case !by.new:
			t.Gone++
		}
	}
	return &t
}

// SharedKeys returns a sentence about keys that compared events share, or "" if such keys change no
// count. If there were too many keys to find shared ones, the sentence says so.
func (r *Report) SharedKeys() string {
	switch {
	case r.Together == nil:
		return "there are too many keys to find those that events share; compare fewer events"
	case *r.Together == r.keys.planned:
		return ""
	}
	return fmt.Sprintf("events share keys, and only the first event with a key creates the effect: together, %s %s added and %d %s gone",
		noun.Counted(r.Together.Added, "effect"), are(r.Together.Added), r.Together.Gone, are(r.Together.Gone))
}

// are returns the verb for a number of effects.
func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
