-- The newest effects first. An empty filter takes all.
SELECT
    e.scope, e.key, e.generation, e.idempotency_key, e.route, e.destination, e.queue, e.policy,
    e.source, e.event_id, e.event_type, e.accept_seq, e.traceparent,
    e.request_method, e.request_url, e.request_headers, e.request_type, NULL::bytea AS request_body, e.request_body IS NULL AND e.request_rendering = 'done' AS from_delivery,
    e.state, e.attempt, e.lease_until, e.next_attempt_at, e.created_at, e.first_attempt_at, e.last_attempt_at,
    e.maybe_applied_since, e.finished_at, e.response_status, e.response_excerpt, e.error, e.job_id,
    e.key_rotations, e.order_key, e.on_park, e.latest_key, e.occurred_at, e.superseded_by, e.request_rendering, e.uncounted_attempts, e.refused_since
FROM hooklatch.effects AS e
WHERE (:state = '' OR e.state = :state)
    AND (:destination = '' OR e.destination = :destination)
    AND (:linked_source = '' OR EXISTS (
        SELECT
        FROM hooklatch.effect_events AS l
        WHERE l.source = :linked_source
            AND l.event_id = :linked_event_id
            AND l.scope = e.scope
            AND l.key = e.key
            AND l.generation = e.generation
    ))
    AND (:route = '' OR e.route = :route)
    AND (:source = '' OR e.source = :source)
    AND (:since::timestamptz IS NULL OR e.created_at >= :since)
ORDER BY e.created_at DESC, e.scope, e.key, e.generation
LIMIT :limit
