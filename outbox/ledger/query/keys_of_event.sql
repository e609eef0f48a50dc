-- The keys of the effects of an event, of one of its routes alone where one is given, and
-- when they were made.
SELECT e.idempotency_key, e.created_at
FROM hooklatch.all_links AS l
CROSS JOIN LATERAL (
    SELECT e.idempotency_key, e.created_at, e.route
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
    OFFSET 0 -- each by a look-up of its own
) AS e
WHERE l.source = :source
    AND l.event_id = :event_id
    AND (:route = '' OR e.route = :route)
