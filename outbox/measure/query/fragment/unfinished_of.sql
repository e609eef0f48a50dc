-- The states of the unfinished effects of the destination in the row line, up to the destination's
-- share. If line.in_orders is true, these are the effects in orders, and otherwise the effects
-- without an order. Each branch is read in one walk along an index.
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
