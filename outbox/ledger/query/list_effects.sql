-- The newest effects first. An empty filter takes all.
SELECT
    {{effect_columns}},
    NULL::bytea AS request_body, e.state, e.lease_until, e.next_attempt_at
FROM hooklatch.effects AS e
WHERE (:state = '' OR e.state = :state)
    AND (:destination = '' OR e.destination = :destination)
    AND (:linked_source = '' OR EXISTS (
        SELECT
        FROM hooklatch.effect_events AS l
        WHERE l.source = :linked_source
            AND l.event_id = :linked_event_id
            AND l.scope = e.scope
            AND l.key = e.key
            AND l.generation = e.generation
    ))
    AND (:route = '' OR e.route = :route)
    AND (:source = '' OR e.source = :source)
    AND (:since::timestamptz IS NULL OR e.created_at >= :since)
ORDER BY e.created_at DESC, e.scope, e.key, e.generation
LIMIT :limit
