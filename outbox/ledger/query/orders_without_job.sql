-- Returns the overdue effects that no live job will attempt or settle, in the destination's next
-- :limit orders. In an order, only the first effect and an effect being attempted have a job. The
-- first effect's job has waited in its queue since the effect's turn arrived, not since the effect
-- was due. Effects are therefore reported only if all waiting jobs were read. The last row is the
-- position where the next call continues. It is missing at the end of the orders.
WITH job AS MATERIALIZED {{live_jobs}}, page AS MATERIALIZED {{page_of_orders}}, head AS (
    SELECT head.scope, head.key, head.generation, head.destination, head.queue, head.source, head.event_id, head.event_type, head.traceparent, head.next_attempt_at
    FROM page AS o
    CROSS JOIN LATERAL {{head_of_order}} AS head
    WHERE head.state IN ('pending', 'in_doubt')
    UNION ALL
    SELECT e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, e.traceparent, e.next_attempt_at
    FROM page AS o
    CROSS JOIN LATERAL {{at_work_in_order}} AS e
), lacking AS (
    SELECT e.*, COALESCE(d.queue, e.queue) AS queue_now
    FROM head AS e
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
    WHERE e.destination = :destination
        AND e.next_attempt_at < now() - make_interval(secs => :grace_seconds::float8)
        AND NOT {{has_job}}
        AND {{known_until}} = 'infinity'
)
SELECT
    e.scope, e.key, e.generation, e.destination, e.queue_now, e.source, e.event_id, e.event_type, {{origin_of_event}} AS origin, e.traceparent,
    e.next_attempt_at, '' AS order_key, false AS is_end
FROM lacking AS e
UNION ALL
SELECT last.scope, '', 0, '', '', '', '', '', '', '', now(), last.order_key, true
FROM (
    SELECT page.scope, page.order_key
    FROM page
    ORDER BY page.scope DESC, page.order_key DESC
    LIMIT 1
) AS last
WHERE (SELECT count(*) FROM page) = :limit
