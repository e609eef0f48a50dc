-- Opens an event that a replay guard held for its dispatch, also when a person
-- had decided against it. It was never dispatched, so its generation stays.
UPDATE hooklatch.processed_events
SET
    outcome = 'received',
    processed_at = NULL,
    error = ''
WHERE source = :source
    AND event_id = :event_id
    AND outcome IN ('held', 'dropped')
RETURNING event_type, queue, traceparent
