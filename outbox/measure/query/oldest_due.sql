-- The time at which each destination's longest waiting effect became due. A started effect waits if
-- its worker was lost. Only the first effect of each order counts, in at most :orders orders of a
-- destination.
WITH line AS MATERIALIZED (
    SELECT found.destination, found.in_orders
    FROM {{unfinished_destinations}} AS found
), due AS (
    SELECT line.destination, e.next_attempt_at
    FROM line
    CROSS JOIN LATERAL (
        SELECT e.next_attempt_at
        FROM hooklatch.effects AS e
        WHERE e.destination = ANY (ARRAY[line.destination])
            AND e.order_key = ''
            AND e.state IN ('pending', 'started', 'in_doubt')
            AND e.next_attempt_at <= now()
            AND (e.state <> 'started' OR {{lease_over}})
        ORDER BY e.destination, e.next_attempt_at
        LIMIT 1
    ) AS e
    WHERE NOT line.in_orders
    UNION ALL
    SELECT line.destination, e.next_attempt_at
    FROM line
    CROSS JOIN LATERAL (
        WITH RECURSIVE o AS (
            SELECT '' AS scope, '' AS order_key
            UNION ALL
            SELECT following.scope, following.order_key
            FROM o
            CROSS JOIN LATERAL (
                SELECT next.scope, next.order_key
                FROM (
                    SELECT e.destination, e.scope, e.order_key
                    FROM hooklatch.effects AS e
                    WHERE (e.destination, e.scope, e.order_key) > (line.destination, o.scope, o.order_key)
                        AND e.order_key <> ''
                        AND e.state IN ('pending', 'started', 'in_doubt')
                    ORDER BY e.destination, e.scope, e.order_key
                    LIMIT 1
                ) AS next
                WHERE next.destination = line.destination
            ) AS following
        )
        SELECT o.scope, o.order_key
        FROM o
        WHERE o.order_key <> ''
        LIMIT :orders
    ) AS o
    CROSS JOIN LATERAL {{head_of_order}} AS e
    WHERE line.in_orders
        AND e.destination = line.destination
        AND e.state IN ('pending', 'started', 'in_doubt')
        AND e.next_attempt_at <= now()
        AND (e.state <> 'started' OR {{lease_over}})
)
SELECT due.destination, min(due.next_attempt_at)
FROM due
GROUP BY due.destination
