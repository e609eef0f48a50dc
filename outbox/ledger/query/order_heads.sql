-- Returns the first unfinished effect of each order, if that effect waits for an attempt.
SELECT
    head.scope, head.key, head.generation, head.destination, COALESCE(d.queue, head.queue) AS queue,
    head.source, head.event_id, head.event_type, {{origin_of_event e=head}} AS origin, head.traceparent, head.order_key, head.accept_seq, head.state
FROM :orders AS o (scope text, order_key text)
CROSS JOIN LATERAL {{head_of_order}} AS head
LEFT JOIN hooklatch.destinations AS d ON d.name = head.destination
WHERE head.state IN ('pending', 'in_doubt')
