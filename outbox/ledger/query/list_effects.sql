-- The newest effects first. An empty filter takes all. Those of an event are found
-- by its links, and only the others by their age.
WITH found AS (
    (
        SELECT e.*
        FROM hooklatch.effects AS e
        WHERE :linked_source = ''
            AND (:state = '' OR e.state = :state)
            AND (:destination = '' OR e.destination = :destination)
            AND (:route = '' OR e.route = :route)
            AND (:source = '' OR e.source = :source)
            AND (:since::timestamptz IS NULL OR e.created_at >= :since)
        ORDER BY e.created_at DESC, e.scope, e.key, e.generation
        LIMIT :limit
    )
    UNION ALL
    SELECT e.*
    FROM hooklatch.all_links AS l
    CROSS JOIN LATERAL (
        SELECT e.*
        FROM hooklatch.effects AS e
        WHERE e.scope = l.scope
            AND e.key = l.key
            AND e.generation = l.generation
        OFFSET 0 -- each by a look-up of its own
    ) AS e
    WHERE :linked_source <> ''
        AND l.source = :linked_source
        AND l.event_id = :linked_event_id
        AND (:state = '' OR e.state = :state)
        AND (:destination = '' OR e.destination = :destination)
        AND (:route = '' OR e.route = :route)
        AND (:source = '' OR e.source = :source)
        AND (:since::timestamptz IS NULL OR e.created_at >= :since)
)
SELECT
    {{effect_columns}},
    NULL::bytea AS request_body, e.state, e.lease_until, e.next_attempt_at
FROM found AS e
ORDER BY e.created_at DESC, e.scope, e.key, e.generation
LIMIT :limit
