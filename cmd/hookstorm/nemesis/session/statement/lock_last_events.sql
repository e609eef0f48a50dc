-- Locks the latter half, in key order, of the events that are about to be dispatched.
WITH busy AS (
    SELECT source, event_id
    FROM hooklatch.processed_events
    WHERE outcome = 'received'
), last AS (
    SELECT source, event_id
    FROM busy
    ORDER BY source COLLATE "C" DESC, event_id COLLATE "C" DESC
    LIMIT (SELECT (count(*) + 1) / 2 FROM busy)
)
SELECT event_id
FROM hooklatch.processed_events
JOIN last USING (source, event_id)
ORDER BY source COLLATE "C" DESC, event_id COLLATE "C" DESC
FOR UPDATE OF processed_events SKIP LOCKED
