-- Notes the erasure of an event that only the export contains.
INSERT INTO hooklatch.export_erasures AS x (source, event_id, note, redacting)
VALUES (:source, :event_id, :note, false)
ON CONFLICT (source, event_id) DO UPDATE
SET
    note = EXCLUDED.note,
    redacting = false,
    requested_at = EXCLUDED.requested_at
