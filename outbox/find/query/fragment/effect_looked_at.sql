-- The columns of the effect e that a walk reads. None of them is large.
e.created_at, e.idempotency_key, e.scope, e.key, e.generation, e.state, e.destination, e.route,
        e.source, e.event_id, e.event_type, e.policy, e.maybe_applied_since, e.request_rendering,
        e.finished_at, e.erased_at
