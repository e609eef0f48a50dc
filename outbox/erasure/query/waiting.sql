-- The next events of a source that redaction has reached but could not redact yet.
SELECT source, event_id
FROM hooklatch.redaction_waiting
WHERE source = :source
    AND event_id > :after
ORDER BY event_id
LIMIT :limit
