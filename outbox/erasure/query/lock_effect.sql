-- The state of an effect, whether the effect is erased, and the event that created it. An effect
-- that a handler enqueued has no event in its row. It may be erased alone, and is also erased with
-- the event that the handler processed.
SELECT state, erased_at IS NOT NULL, source, event_id
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
FOR UPDATE
