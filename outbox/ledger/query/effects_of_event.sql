-- Returns the links of one event, including links to effects that an earlier event created.
SELECT l.scope, l.key, l.generation, l.suppressed, e.idempotency_key, e.destination, e.state, e.attempt
FROM hooklatch.all_links AS l
CROSS JOIN LATERAL (
    SELECT e.idempotency_key, e.destination, e.state, e.attempt
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
    OFFSET 0 -- forces one look-up for each row
) AS e
WHERE l.source = :source
    AND l.event_id = :event_id
ORDER BY l.linked_at, l.scope, l.key, l.generation
