package checker

// sameKeyAndBody checks I7. The key of an effect matches its scope, key and generation. All calls
// with one key carry the stored body, and go to the effect's destination. Attempts carry another
// key only after a recorded rotation.
func (j *judge) sameKeyAndBody() {
	for key, calls := range j.calls {
		hashes := make(map[string]string, 1) // by the key as sent
		for _, c := range calls {
			if first, known := hashes[c.key]; known && first != c.hash {
				j.violated("I7", key, "calls with one key had different bodies: "+short(first)+", and "+short(c.hash)+" at "+at(c.began))
				break
			}
			hashes[c.key] = c.hash
		}
	}
	for _, e := range j.effects {
		if e.row == nil {
			continue
		}
		if e.row.IdempotencyKey != e.name() {
			j.effectViolatedf("I7", e, "its key %s does not match its scope, key and generation", e.row.IdempotencyKey)
		}
		for _, a := range e.attempts {
			if a.KeyRotation > e.row.KeyRotations {
				j.effectViolatedf("I7", e, "attempt %d carried key %d, but the key was rotated %d times", a.Attempt, a.KeyRotation, e.row.KeyRotations)
			}
		}
		stored := j.bodyOf(e)
		for _, c := range j.calls[e.row.IdempotencyKey] {
			if _, n := unrotated(c.key); n > e.row.KeyRotations {
				j.effectViolatedf("I7", e, "the call at %s carried key %d, but the key was rotated %d times", at(c.began), n, e.row.KeyRotations)
				break
			}
			if stored != "" && c.hash != stored {
				j.effectViolatedf("I7", e, "the call at %s had the body %s, but the stored one is %s", at(c.began), short(c.hash), short(stored))
				break
			}
			if c.destination != e.row.Destination {
				j.effectViolatedf("I7", e, "the call at %s went to %s", at(c.began), c.destination)
			}
		}
	}
}

// bodyOf returns the hash of the body that the effect's calls must have. It returns "" if the
// stored rows do not show that body. This is the case if the effect sends an email, a statement or
// an item of a delivery, or if its content was erased.
func (j *judge) bodyOf(e *effect) string {
	if j.kindOf(e) != "http" || e.row.ErasedAt != 0 {
		return ""
	}
	if e.row.RequestHash != "" {
		return e.row.RequestHash
	}
	cause := j.events[refOf(e.row)]
	if cause == nil || cause.row == nil || cause.row.Item != "" {
		return ""
	}
	return j.bodies[cause.row.DeliveryID].Hash
}
