-- Parked effects, and failed or cancelled effects without a stored request body. An operator
-- may retry them; without a stored body, the retry sends the delivery as it arrived.
CREATE INDEX CONCURRENTLY effects_put_aside ON hooklatch.effects (accept_seq)
    WHERE accept_seq IS NOT NULL AND (state = 'parked' OR state IN ('failed', 'cancelled') AND request_body IS NULL);
