-- Reopens finished effects, in key order, so that they are attempted again under the same key and
-- with the same body (I7). The error of the effects then names the action and the operator. Their
-- attempts keep the earlier errors.
WITH chosen AS (
    {{effects_of_keys}}
), locked AS (
    SELECT chosen.*, stands.state, stands.finished_at, stands.request_rendering, stands.erased_at, COALESCE(d.queue, stands.queue) AS queue
    FROM chosen
    CROSS JOIN LATERAL (
        SELECT e.destination, e.queue, e.state, e.finished_at, e.request_rendering, e.erased_at
        FROM hooklatch.effects AS e
        WHERE e.scope = chosen.scope
            AND e.key = chosen.key
            AND e.generation = chosen.generation
        FOR UPDATE
    ) AS stands
    LEFT JOIN hooklatch.destinations AS d ON d.name = stands.destination
)
UPDATE hooklatch.effects AS e
SET
    state = CASE WHEN e.maybe_applied_since IS NULL THEN 'pending' ELSE 'in_doubt' END,
    queue = locked.queue,
    next_attempt_at = now(),
    reopened_at = now(),
    refused_since = NULL,
    superseded_by = '',
    finished_at = NULL,
    claim_id = NULL,
    lease_until = NULL,
    error = :error
FROM locked
WHERE {{same_effect}}
    AND {{still_chosen e=locked}}
    AND locked.request_rendering <> 'failed'
    AND locked.erased_at IS NULL
RETURNING
    e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, {{origin_of_event}} AS origin, e.traceparent,
    e.order_key, COALESCE(e.accept_seq, 0), e.state
