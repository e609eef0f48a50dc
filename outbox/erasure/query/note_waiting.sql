INSERT INTO hooklatch.redaction_waiting (source, event_id)
VALUES (:source, :event_id)
ON CONFLICT (source, event_id) DO NOTHING
