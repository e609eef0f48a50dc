-- Gives an effect up. An attempt that runs may still be applied, but settles
-- nothing.
UPDATE hooklatch.effects
SET
    state = 'cancelled',
    finished_at = now(),
    claim_id = NULL,
    lease_until = NULL,
    maybe_applied_since = CASE
        WHEN state = 'started' AND request_rendering <> 'late' THEN COALESCE(maybe_applied_since, last_attempt_at)
        ELSE maybe_applied_since
    END,
    error = $2
WHERE idempotency_key = $1
    AND state NOT IN ('done', 'cancelled')
RETURNING scope, key, generation, order_key, COALESCE(accept_seq, 0)
