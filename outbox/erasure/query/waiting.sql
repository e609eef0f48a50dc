-- A source's next events that redaction reached before their effects had ended.
SELECT source, event_id
FROM hooklatch.redaction_waiting
WHERE source = :source
    AND event_id > :after
ORDER BY event_id
LIMIT :limit
