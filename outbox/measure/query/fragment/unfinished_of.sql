-- The states of the unfinished effects of the destination in line, either in no order or in orders,
-- up to the destination's share. Each branch is one walk along an index.
(
    (
        SELECT e.state
        FROM hooklatch.effects AS e
        WHERE NOT line.in_orders
            AND e.destination = ANY (ARRAY[line.destination])
            AND e.order_key = ''
            AND e.state IN ('pending', 'started', 'in_doubt')
        ORDER BY e.destination, e.next_attempt_at
        LIMIT (SELECT share.rows FROM share)
    )
    UNION ALL
    (
        SELECT e.state
        FROM hooklatch.effects AS e
        WHERE line.in_orders
            AND e.destination = ANY (ARRAY[line.destination])
            AND e.order_key <> ''
            AND e.state IN ('pending', 'started', 'in_doubt')
        ORDER BY e.destination, e.scope, e.order_key
        LIMIT (SELECT share.rows FROM share)
    )
)
