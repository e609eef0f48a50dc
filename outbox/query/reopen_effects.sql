-- Lets finished effects be attempted again, under the same key and body (I7):
-- one by its key, or those of an event that did not succeed, in key order. Why
-- they wait now is that somebody ordered it; what failed stands in their attempts.
WITH chosen AS (
    SELECT e.scope, e.key, e.generation
    FROM hooklatch.effects AS e
    WHERE e.state IN ('failed', 'parked', 'cancelled')
        AND e.request_rendering <> 'failed'
        AND CASE
            WHEN $1 <> '' THEN e.idempotency_key = $1
            ELSE (e.scope, e.key, e.generation) IN (
                SELECT l.scope, l.key, l.generation
                FROM hooklatch.effect_events AS l
                WHERE l.source = $2
                    AND l.event_id = $3
            )
        END
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE OF e
)
UPDATE hooklatch.effects AS e
SET
    state = CASE WHEN e.maybe_applied_since IS NULL THEN 'pending' ELSE 'in_doubt' END,
    next_attempt_at = now(),
    reopened_at = now(),
    superseded_by = '',
    finished_at = NULL,
    claim_id = NULL,
    lease_until = NULL,
    error = $4
FROM chosen
WHERE e.scope = chosen.scope
    AND e.key = chosen.key
    AND e.generation = chosen.generation
    AND e.state IN ('failed', 'parked', 'cancelled')
RETURNING
    e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, e.traceparent,
    e.order_key, COALESCE(e.accept_seq, 0), e.state
