-- Unfinished effects that may be done once at most, by destination, and when the first
-- of them was made. Both halves are a walk over what waits.
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
