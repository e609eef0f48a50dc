-- A slice of the erasures that may still have to be carried out in the export, oldest first.
SELECT source, event_id, note, redacting, requested_at
FROM hooklatch.export_erasures
WHERE (requested_at, source, event_id) > (:after, :source, :event_id)
ORDER BY requested_at, source, event_id
LIMIT :look
