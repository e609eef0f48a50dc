-- The first unfinished effect of each order, if it waits for an attempt.
SELECT head.*
FROM :orders AS o (scope text, order_key text)
CROSS JOIN LATERAL (
    SELECT
        e.scope, e.key, e.generation, e.destination, COALESCE(d.queue, e.queue) AS queue, e.source, e.event_id, e.event_type, e.traceparent,
        e.order_key, e.accept_seq, e.state
    FROM hooklatch.effects AS e
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
    WHERE e.scope = o.scope
        AND e.order_key = o.order_key
        AND e.order_key <> ''
        AND {{holds_its_order}}
    ORDER BY e.accept_seq, e.key COLLATE "C", e.generation
    LIMIT 1
) AS head
WHERE head.state IN ('pending', 'in_doubt')
