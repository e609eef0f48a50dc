-- Returns the destination's next order after the order o. The destination is part of the comparison
-- and the sort key. Postgres then steps into effects_orders, whatever the statistics say, and does
-- not scan unfinished effects in other destinations' orders.
(
    SELECT following.scope, following.order_key
    FROM (
        SELECT e.destination, e.scope, e.order_key
        FROM hooklatch.effects AS e
        WHERE (e.destination, e.scope, e.order_key) > (:destination, o.scope, o.order_key)
            AND e.order_key <> ''
            AND e.state IN ('pending', 'started', 'in_doubt')
        ORDER BY e.destination, e.scope, e.order_key
        LIMIT 1
    ) AS following
    WHERE following.destination = :destination
)
