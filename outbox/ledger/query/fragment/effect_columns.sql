-- The columns of the effect e that scanEffect reads first, in this order. Body, state, lease and
-- next attempt follow, because they differ between statements.
e.scope, e.key, e.generation, e.idempotency_key, e.route, e.destination, e.queue, e.policy,
    e.source, e.event_id, e.event_type, e.accept_seq, e.traceparent,
    e.request_method, e.request_url, e.request_headers, e.request_type, e.request_body IS NULL AND e.request_rendering = 'done' AS from_delivery,
    e.attempt, e.created_at, e.first_attempt_at, e.last_attempt_at,
    e.maybe_applied_since, e.finished_at, e.response_status, e.response_excerpt, e.error, e.job_id,
    e.key_rotations, e.order_key, e.on_park, e.latest_key, e.occurred_at, e.superseded_by, e.request_rendering, e.uncounted_attempts, e.refused_since, e.erased_at
