UPDATE hooklatch.redeliveries
SET
    ended_at = now(),
    outcome = :outcome
WHERE source = :source
    AND event_id = ANY (:event_ids::text[])
    AND ended_at IS NULL
