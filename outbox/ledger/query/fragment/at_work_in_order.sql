-- Lists the effects being attempted in the order o. There is at most one, unless positions have
-- changed.
(
    SELECT
        e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, e.traceparent,
        e.next_attempt_at, e.lease_until, e.last_attempt_at
    FROM hooklatch.effects AS e
    WHERE e.scope = o.scope
        AND e.order_key = o.order_key
        AND e.order_key <> ''
        AND e.state = 'started'
    ORDER BY e.created_at -- selects the index effects_at_work, so that no plan starts with the waiting effects
    LIMIT 10
)
