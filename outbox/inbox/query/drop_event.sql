-- Ends an event that a replay guard held. Its row stays: the id is known.
UPDATE hooklatch.processed_events
SET
    outcome = 'dropped',
    processed_at = now(),
    error = :error
WHERE source = :source
    AND event_id = :event_id
    AND outcome = 'held'
