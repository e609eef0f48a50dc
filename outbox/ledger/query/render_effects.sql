-- Replaces the content of effects whose rendering failed with the content from the plan of their
-- replayed event. No attempt of these effects has started.
WITH planned AS (
    SELECT e.*, COALESCE(d.queue, e.planned_queue) AS queue
    FROM :effects AS e (
        scope text, key text, generation integer, destination text, planned_queue text, policy text,
        request_method text, request_url text, request_headers jsonb, request_type text, request_body bytea,
        order_key text, on_park text, latest_key text, occurred_at timestamptz, request_rendering text, parked text,
        traceparent text
    )
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
), locked AS (
    SELECT planned.*, stands.request_rendering AS now_rendering, stands.attempt AS now_attempt
    FROM planned
    CROSS JOIN LATERAL (
        SELECT e.request_rendering, e.attempt
        FROM hooklatch.effects AS e
        WHERE e.scope = planned.scope
            AND e.key = planned.key
            AND e.generation = planned.generation
        FOR UPDATE
    ) AS stands
)
UPDATE hooklatch.effects AS e
SET
    destination = planned.destination,
    queue = planned.queue,
    policy = planned.policy,
    request_method = planned.request_method,
    request_url = planned.request_url,
    request_headers = planned.request_headers,
    request_type = planned.request_type,
    request_body = planned.request_body,
    order_key = planned.order_key,
    on_park = planned.on_park,
    latest_key = planned.latest_key,
    occurred_at = CASE WHEN planned.latest_key <> '' THEN COALESCE(planned.occurred_at, now()) ELSE planned.occurred_at END,
    request_rendering = planned.request_rendering,
    traceparent = planned.traceparent,
    state = 'pending',
    error = '',
    finished_at = NULL,
    next_attempt_at = now(),
    reopened_at = now()
FROM locked AS planned
WHERE {{same_effect locked=planned}}
    AND planned.parked = ''
    AND planned.now_rendering = 'failed'
    AND planned.now_attempt = 0
RETURNING e.scope, e.key, e.generation, e.queue
