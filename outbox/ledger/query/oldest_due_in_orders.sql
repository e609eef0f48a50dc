-- Like oldest_due.sql, for the destination's next :limit orders. Only an order's first effect, or
-- an effect whose worker was lost, can be due. As in order_turns.sql, the first effect waits
-- for a running attempt of a later effect and for an earlier event that is not dispatched yet. The
-- last row is the position where the next call continues. It is missing at the end of the orders.
WITH page AS MATERIALIZED {{page_of_orders}}, head AS MATERIALIZED (
    SELECT head.*, CASE WHEN head.route <> '' THEN head.source END AS waits_for
    FROM page AS o
    CROSS JOIN LATERAL {{head_of_order}} AS head
    WHERE head.destination = :destination
        AND head.next_attempt_at <= now()
        AND head.state <> 'parked'
), undispatched AS MATERIALIZED (
    SELECT source.waits_for, {{first_undispatched}} AS accept_seq
    FROM (SELECT DISTINCT waits_for FROM head WHERE waits_for IS NOT NULL) AS source
), due AS (
    SELECT e.scope, e.key, e.generation, e.next_attempt_at
    FROM head AS e
    LEFT JOIN undispatched USING (waits_for)
    WHERE e.state IN ('pending', 'in_doubt')
        AND NOT {{later_at_work}}
        AND NOT COALESCE(undispatched.accept_seq < e.accept_seq, false)
    UNION ALL
    -- An effect whose worker was lost is due, whatever its position.
    SELECT e.scope, e.key, e.generation, e.next_attempt_at
    FROM page AS o
    CROSS JOIN LATERAL {{at_work_in_order}} AS e
    WHERE e.destination = :destination
        AND {{lease_over}}
), oldest AS (
    SELECT due.*
    FROM due
    ORDER BY due.next_attempt_at
    LIMIT 1
)
SELECT oldest.scope, oldest.key, oldest.generation, oldest.next_attempt_at, '' AS order_key, false AS is_end
FROM oldest
UNION ALL
SELECT last.scope, '', 0, now(), last.order_key, true
FROM (
    SELECT page.scope, page.order_key
    FROM page
    ORDER BY page.scope DESC, page.order_key DESC
    LIMIT 1
) AS last
WHERE (SELECT count(*) FROM page) = :limit
