-- How an effect stands, and the event that made it. An effect that a handler enqueued
-- has no event in its row, and goes with it all the same, but may go alone.
SELECT state, erased_at IS NOT NULL, source, event_id
FROM hooklatch.effects
WHERE scope = :scope
    AND key = :key
    AND generation = :generation
FOR UPDATE
