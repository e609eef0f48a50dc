-- Drops an event that is still to be dispatched or waits for an operator. The caller has locked its
-- row.
UPDATE hooklatch.processed_events
SET
    outcome = 'dropped',
    processed_at = now()
WHERE source = :source
    AND event_id = :event_id
    AND outcome IN ('received', 'failed', 'held')
