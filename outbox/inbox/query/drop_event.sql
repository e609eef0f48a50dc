-- Drops an event that a replay guard holds. Its row stays, so that a redelivery is a duplicate.
UPDATE hooklatch.processed_events
SET
    outcome = 'dropped',
    processed_at = now(),
    error = :error
WHERE source = :source
    AND event_id = :event_id
    AND outcome = 'held'
