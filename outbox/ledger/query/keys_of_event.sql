-- Returns the keys and creation times of an event's effects. A non-empty :route limits the result
-- to that route. An effect that a replay under new keys has replaced is left out: its receiver would
-- apply the work of both.
SELECT e.idempotency_key, e.created_at
FROM hooklatch.all_links AS l
CROSS JOIN LATERAL (
    SELECT e.idempotency_key, e.created_at, e.route
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.effects AS newer
            WHERE newer.scope = l.scope
                AND newer.key = l.key
                AND newer.generation > l.generation
        )
    OFFSET 0 -- forces one look-up for each row
) AS e
WHERE l.source = :source
    AND l.event_id = :event_id
    AND (:route = '' OR e.route = :route)
