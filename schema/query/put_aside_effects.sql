-- Effects of events that a person may still have attempted: those that were ended
-- without success send their delivery as it came.
CREATE INDEX CONCURRENTLY effects_put_aside ON hooklatch.effects (accept_seq)
    WHERE accept_seq IS NOT NULL AND (state = 'parked' OR state IN ('failed', 'cancelled') AND request_body IS NULL);
