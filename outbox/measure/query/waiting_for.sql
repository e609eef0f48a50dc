-- The number of effects that wait for a destination, up to :most, and the time at which the first
-- of them became due. Effects in orders are not searched for the due time.
WITH line (destination, in_orders) AS (
    VALUES (:destination::text, false), (:destination, true)
), share AS MATERIALIZED (
    SELECT :most::bigint AS rows
)
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT
            FROM line
            CROSS JOIN LATERAL {{unfinished_of}} AS e
            LIMIT (SELECT share.rows FROM share)
        ) AS e
    ),
    (
        SELECT e.next_attempt_at
        FROM hooklatch.effects AS e
        WHERE e.destination = ANY (ARRAY[:destination::text])
            AND e.order_key = ''
            AND e.state IN ('pending', 'started', 'in_doubt')
            AND e.next_attempt_at <= now()
            AND (e.state <> 'started' OR {{lease_over}})
        ORDER BY e.destination, e.next_attempt_at
        LIMIT 1
    )
