SELECT event_id, ref, happened_at, asked_at, tries
FROM hooklatch.redeliveries
WHERE source = :source
    AND stream = :name
    AND ended_at IS NULL
ORDER BY happened_at, event_id
LIMIT :most
