-- Puts effects aside for a person. An attempt that runs may still be applied, but
-- settles nothing. What left the given states, or came to them after the given
-- time, is left alone.
WITH chosen AS (
    SELECT e.scope, e.key, e.generation
    FROM hooklatch.effects AS e
    WHERE e.idempotency_key = ANY (:idempotency_keys::text[])
        AND e.state = ANY (:states::text[])
        AND (:finished_until::timestamptz IS NULL OR COALESCE(e.finished_at, '-infinity') <= :finished_until)
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE
)
UPDATE hooklatch.effects AS e
SET
    state = 'parked',
    finished_at = now(),
    claim_id = NULL,
    lease_until = NULL,
    maybe_applied_since = CASE
        WHEN e.state = 'started' AND e.request_rendering <> 'late' THEN COALESCE(e.maybe_applied_since, e.last_attempt_at)
        ELSE e.maybe_applied_since
    END,
    error = :error
FROM chosen
WHERE e.scope = chosen.scope
    AND e.key = chosen.key
    AND e.generation = chosen.generation
RETURNING e.scope, e.key, e.generation, e.order_key, COALESCE(e.accept_seq, 0)
