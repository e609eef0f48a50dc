-- The destinations of unfinished effects, and where their jobs wait. Each is one
-- step through an index. What waits for a paused one lacks nothing.
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
SELECT waiting.destination, array_agg(DISTINCT COALESCE(d.queue, waiting.queue)) || array_agg(DISTINCT waiting.queue) AS queues
FROM (SELECT * FROM due UNION ALL SELECT * FROM ordered) AS waiting
LEFT JOIN hooklatch.destinations AS d ON d.name = waiting.destination
WHERE NOT COALESCE(d.operator_paused OR d.breaker_state <> 'closed', false)
GROUP BY waiting.destination
ORDER BY waiting.destination COLLATE "C"
