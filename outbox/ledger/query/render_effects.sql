-- Makes of effects that could not be rendered what the replayed plan of their
-- event says. They were never attempted.
WITH planned AS (
    SELECT e.*, COALESCE(d.queue, e.planned_queue) AS queue
    FROM :effects AS e (
        scope text, key text, generation integer, destination text, planned_queue text, policy text,
        request_method text, request_url text, request_headers jsonb, request_type text, request_body bytea,
        order_key text, on_park text, latest_key text, occurred_at timestamptz, request_rendering text, parked text,
        traceparent text
    )
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
), locked AS (
    SELECT e.scope, e.key, e.generation
    FROM hooklatch.effects AS e
    JOIN planned USING (scope, key, generation)
    WHERE e.request_rendering = 'failed'
        AND planned.parked = ''
        AND e.attempt = 0
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE OF e
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
FROM planned
JOIN locked USING (scope, key, generation)
WHERE e.scope = planned.scope
    AND e.key = planned.key
    AND e.generation = planned.generation
    AND e.request_rendering = 'failed'
    AND e.attempt = 0
RETURNING e.scope, e.key, e.generation, e.queue
