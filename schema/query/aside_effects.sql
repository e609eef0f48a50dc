-- Effects that only a person sets going again, of a destination the oldest first.
CREATE INDEX CONCURRENTLY effects_aside ON hooklatch.effects (destination, state, finished_at)
    WHERE state IN ('failed', 'parked');
