-- The first effect in the order o that keeps later effects waiting.
(
    SELECT
        e.scope, e.key, e.generation, e.destination, e.queue, e.route, e.source, e.event_id, e.event_type, e.traceparent,
        e.order_key, e.accept_seq, e.state, e.next_attempt_at, e.lease_until, e.last_attempt_at
    FROM hooklatch.effects AS e
    WHERE e.scope = o.scope
        AND e.order_key = o.order_key
        AND e.order_key <> ''
        AND {{holds_its_order}}
    ORDER BY e.accept_seq, e.key COLLATE "C", e.generation
    LIMIT 1
)
