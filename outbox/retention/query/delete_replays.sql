-- Deletes the records of replays of deleted events, oldest first. The few replays of kept events
-- are read again in every slice, and are deleted after their event.
DELETE FROM hooklatch.event_replays AS r
USING (
    SELECT source, event_id, generation
    FROM hooklatch.event_replays AS r
    WHERE requested_at < :before
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.processed_events AS p
            WHERE p.source = r.source
                AND p.event_id = r.event_id
            OFFSET 0 -- forces one look-up for each row
        )
    ORDER BY requested_at
    LIMIT :look
) AS old
WHERE r.source = ANY (ARRAY[old.source])
    AND r.event_id = old.event_id
    AND r.generation = old.generation
