-- Lets finished effects be attempted again, under the same key and body (I7), in
-- key order. Why they wait now is that an operator ordered it; what failed stands
-- in their attempts.
WITH chosen AS (
    SELECT e.scope, e.key, e.generation, COALESCE(d.queue, e.queue) AS queue
    FROM hooklatch.effects AS e
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
    WHERE {{chosen_by_operator}}
        AND e.request_rendering <> 'failed'
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE OF e
)
UPDATE hooklatch.effects AS e
SET
    state = CASE WHEN e.maybe_applied_since IS NULL THEN 'pending' ELSE 'in_doubt' END,
    queue = chosen.queue,
    next_attempt_at = now(),
    reopened_at = now(),
    refused_since = NULL,
    superseded_by = '',
    finished_at = NULL,
    claim_id = NULL,
    lease_until = NULL,
    error = :error
FROM chosen
WHERE e.scope = chosen.scope
    AND e.key = chosen.key
    AND e.generation = chosen.generation
RETURNING
    e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, e.traceparent,
    e.order_key, COALESCE(e.accept_seq, 0), e.state
