-- Locks an effect. Returns its state, whether it is erased, and whether the event in its row is
-- stored. Also returns the event that must be erased instead: the event in the row, if that event
-- has a link to the effect. Without a link, an erasure of the event would not reach the effect, so
-- the effect may be erased alone. An effect that a handler enqueued has no event in its row. It may
-- be erased alone, and is also erased with the event that the handler processed.
SELECT
    e.state,
    e.erased_at IS NOT NULL,
    EXISTS (
        SELECT
        FROM hooklatch.processed_events AS p
        WHERE p.source = e.source
            AND p.event_id = e.event_id
    ),
    COALESCE(l.source, ''),
    COALESCE(l.event_id, '')
FROM hooklatch.effects AS e
LEFT JOIN LATERAL (
    SELECT l.source, l.event_id
    FROM hooklatch.all_links AS l
    WHERE l.source = e.source
        AND l.event_id = e.event_id
        AND l.scope = e.scope
        AND l.key = e.key
        AND l.generation = e.generation
    LIMIT 1
) AS l ON true
WHERE e.scope = :scope
    AND e.key = :key
    AND e.generation = :generation
FOR UPDATE OF e
