-- Makes of effects that could not be rendered what the replayed plan of their
-- event says. They were never attempted.
WITH planned AS (
    SELECT e.*, COALESCE(d.queue, e.planned_queue) AS queue
    FROM unnest(
        $1::text[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[],
        $7::text[], $8::text[], $9::jsonb[], $10::text[], $11::bytea[],
        $12::text[], $13::text[], $14::text[], $15::timestamptz[], $16::text[], $17::text[],
        $18::text[]
    ) AS e (
        scope, key, generation, destination, planned_queue, policy,
        request_method, request_url, request_headers, request_type, request_body,
        order_key, on_park, latest_key, occurred_at, request_rendering, parked,
        traceparent
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
