-- Effects of events that an operator may still have attempted. Effects that ended without
-- success send their delivery as it arrived.
CREATE INDEX CONCURRENTLY effects_put_aside ON hooklatch.effects (accept_seq)
    WHERE accept_seq IS NOT NULL AND (state = 'parked' OR state IN ('failed', 'cancelled') AND request_body IS NULL);
