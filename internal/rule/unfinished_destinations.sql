-- The destinations of unfinished effects, listed separately for effects without and with an order,
-- each with a queue in which one of the effects waits. The statement takes one step through an
-- index for each destination in either list.
(
    WITH RECURSIVE due AS (
        (
            SELECT e.destination, e.queue
            FROM hooklatch.effects AS e
            WHERE e.order_key = ''
                AND e.state IN ('pending', 'started', 'in_doubt')
            ORDER BY e.destination
            LIMIT 1
        )
        UNION ALL
        SELECT following.destination, following.queue
        FROM due
        CROSS JOIN LATERAL (
            SELECT e.destination, e.queue
            FROM hooklatch.effects AS e
            WHERE e.destination > due.destination
                AND e.order_key = ''
                AND e.state IN ('pending', 'started', 'in_doubt')
            ORDER BY e.destination
            LIMIT 1
        ) AS following
    ), ordered AS (
        (
            SELECT e.destination, e.queue
            FROM hooklatch.effects AS e
            WHERE e.order_key <> ''
                AND e.state IN ('pending', 'started', 'in_doubt')
            ORDER BY e.destination
            LIMIT 1
        )
        UNION ALL
        SELECT following.destination, following.queue
        FROM ordered
        CROSS JOIN LATERAL (
            SELECT e.destination, e.queue
            FROM hooklatch.effects AS e
            WHERE e.destination > ordered.destination
                AND e.order_key <> ''
                AND e.state IN ('pending', 'started', 'in_doubt')
            ORDER BY e.destination
            LIMIT 1
        ) AS following
    )
    SELECT due.destination, due.queue, false AS in_orders
    FROM due
    UNION ALL
    SELECT ordered.destination, ordered.queue, true
    FROM ordered
)
