-- Returns the number of unfinished at_most_once effects by destination, with the creation time of
-- the first effect. Each half reads one index, which contains only unfinished effects.
SELECT e.destination, count(*) AS effects, min(e.created_at) AS first_made
FROM (
    SELECT e.destination, e.created_at
    FROM hooklatch.effects AS e
    WHERE e.order_key = ''
        AND e.state IN ('pending', 'started', 'in_doubt')
        AND e.policy = 'at_most_once'
    UNION ALL
    SELECT e.destination, e.created_at
    FROM hooklatch.effects AS e
    WHERE e.order_key <> ''
        AND e.state IN ('pending', 'started', 'in_doubt')
        AND e.policy = 'at_most_once'
) AS e
GROUP BY e.destination
ORDER BY e.destination COLLATE "C"
