-- The links of one event, also to effects an earlier event had made.
SELECT l.scope, l.key, l.generation, l.suppressed, e.idempotency_key, e.destination, e.state, e.attempt
FROM hooklatch.effect_events AS l
JOIN hooklatch.effects AS e USING (scope, key, generation)
WHERE l.source = :source
    AND l.event_id = :event_id
ORDER BY l.linked_at, l.scope, l.key, l.generation
