DELETE FROM hooklatch.redaction_waiting
WHERE source = :source
    AND event_id = :event_id
