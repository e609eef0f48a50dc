-- Effects that only an operator can restart, by destination, oldest first.
CREATE INDEX CONCURRENTLY effects_aside ON hooklatch.effects (destination, state, finished_at)
    WHERE state IN ('failed', 'parked');
