-- Drops an event that has not been dispatched. Its row is locked already.
UPDATE hooklatch.processed_events
SET
    outcome = 'dropped',
    processed_at = now()
WHERE source = :source
    AND event_id = :event_id
    AND outcome IN ('received', 'failed', 'held')
