-- A slice of the erasures that may still have to be carried out in the export, oldest first. A
-- redaction also has the time at which its event was received, if the event's row is stored.
SELECT
    n.source, n.event_id, n.note, n.redacting, n.requested_at,
    CASE WHEN n.redacting THEN (
        SELECT p.received_at
        FROM hooklatch.processed_events AS p
        WHERE p.source = n.source
            AND p.event_id = n.event_id
    ) END AS received_at
FROM hooklatch.export_erasures AS n
WHERE (n.requested_at, n.source, n.event_id) > (:after, :source, :event_id)
ORDER BY n.requested_at, n.source, n.event_id
LIMIT :look
