-- The newest effects first. An empty filter takes all.
SELECT
    e.scope, e.key, e.generation, e.idempotency_key, e.route, e.destination, e.queue, e.policy,
    e.source, e.event_id, e.event_type, e.accept_seq, e.traceparent,
    e.request_method, e.request_url, e.request_headers, e.request_type, NULL::bytea AS request_body, e.request_body IS NULL AND e.request_rendering = 'done' AS from_delivery,
    e.state, e.attempt, e.lease_until, e.next_attempt_at, e.created_at, e.first_attempt_at, e.last_attempt_at,
    e.maybe_applied_since, e.finished_at, e.response_status, e.response_excerpt, e.error, e.job_id,
    e.key_rotations, e.order_key, e.on_park, e.latest_key, e.occurred_at, e.superseded_by, e.request_rendering, e.uncounted_attempts, e.refused_since
FROM hooklatch.effects AS e
WHERE ($1 = '' OR e.state = $1)
    AND ($2 = '' OR e.destination = $2)
    AND ($3 = '' OR EXISTS (
        SELECT
        FROM hooklatch.effect_events AS l
        WHERE l.source = $3
            AND l.event_id = $4
            AND l.scope = e.scope
            AND l.key = e.key
            AND l.generation = e.generation
    ))
    AND ($6 = '' OR e.route = $6)
    AND ($7 = '' OR e.source = $7)
    AND ($8::timestamptz IS NULL OR e.created_at >= $8)
ORDER BY e.created_at DESC, e.scope, e.key, e.generation
LIMIT $5
