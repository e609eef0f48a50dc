-- Creates the effects whose key is new, in key order, and links every event to
-- its effects, also to those an earlier event had made.
WITH planned AS (
    SELECT
        e.*,
        -- Where its effects wait now: the process that made the plan may be of an
        -- older configuration.
        COALESCE(d.queue, e.planned_queue) AS queue
    FROM unnest(
        $1::text[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[],
        $14::text[], $15::text[], $16::jsonb[], $17::text[], $18::bytea[],
        $19::text[], $20::text[], $21::text[], $22::timestamptz[], $23::text[], $24::text[]
    ) AS e (
        scope, key, generation, idempotency_key, route, destination, planned_queue, policy,
        source, event_id, event_type, accept_seq, traceparent,
        request_method, request_url, request_headers, request_type, request_body,
        order_key, on_park, latest_key, occurred_at, request_rendering, parked
    )
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
), created AS (
    INSERT INTO hooklatch.effects (
        scope, key, generation, idempotency_key, route, destination, queue, policy,
        source, event_id, event_type, accept_seq, traceparent,
        request_method, request_url, request_headers, request_type, request_body,
        order_key, on_park, latest_key, occurred_at, request_rendering, state, error, finished_at
    )
    SELECT
        scope, key, generation, idempotency_key, route, destination, queue, policy,
        source, event_id, event_type,
        -- What an application enqueues in an order has its place by the same sequence.
        CASE WHEN accept_seq IS NULL AND order_key <> '' THEN nextval('hooklatch.accept_seq') ELSE accept_seq END,
        traceparent,
        request_method, request_url, request_headers, request_type, request_body,
        order_key, on_park, latest_key, CASE WHEN latest_key <> '' THEN COALESCE(occurred_at, now()) ELSE occurred_at END, request_rendering,
        CASE WHEN parked = '' THEN 'pending' ELSE 'parked' END, parked, CASE WHEN parked <> '' THEN now() END
    FROM planned
    ORDER BY scope COLLATE "C", key COLLATE "C", generation
    -- Both unique indexes must arbitrate: a race on the one that does not would
    -- be an error.
    ON CONFLICT DO NOTHING
    RETURNING scope, key, generation, queue
), linked AS (
    INSERT INTO hooklatch.effect_events (source, event_id, scope, key, generation, suppressed)
    SELECT l.source, l.event_id, l.scope, l.key, l.generation, l.repeats OR created.key IS NULL
    FROM unnest($25::text[], $26::text[], $27::text[], $28::text[], $29::integer[], $30::boolean[])
        AS l (source, event_id, scope, key, generation, repeats)
    LEFT JOIN created USING (scope, key, generation)
    ON CONFLICT (source, event_id, scope, key, generation) DO NOTHING
)
SELECT scope, key, generation, queue
FROM created
