-- Ends an event that a replay guard held. Its row stays: the id is known.
UPDATE hooklatch.processed_events
SET
    outcome = 'dropped',
    processed_at = now(),
    error = $3
WHERE source = $1
    AND event_id = $2
    AND outcome = 'held'
