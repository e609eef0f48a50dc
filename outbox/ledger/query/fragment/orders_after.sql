-- The order of the destination that comes after the order o. The destination is
-- compared and sorted by: whatever Postgres knows of the table, it then steps into
-- effects_orders, and does not walk what waits in orders of others.
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
