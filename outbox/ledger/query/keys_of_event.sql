-- The keys of the effects of an event.
SELECT e.idempotency_key
FROM hooklatch.effect_events AS l
JOIN hooklatch.effects AS e USING (scope, key, generation)
WHERE l.source = :source
    AND l.event_id = :event_id
