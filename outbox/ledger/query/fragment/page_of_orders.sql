-- Lists the destination's next :limit orders with unfinished effects, after the orders that earlier
-- calls read. Each order is one step through the index.
(
    WITH RECURSIVE o AS (
        SELECT start.scope, start.order_key
        FROM (VALUES (:after_scope::text, :after_order_key::text)) AS start (scope, order_key)
        UNION ALL
        SELECT following.scope, following.order_key
        FROM o
        CROSS JOIN LATERAL {{orders_after}} AS following
    )
    SELECT o.scope, o.order_key
    FROM o
    WHERE (o.scope, o.order_key) <> (:after_scope, :after_order_key)
    LIMIT :limit
)
