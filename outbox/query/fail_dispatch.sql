-- The last attempt to dispatch the event failed: the reconciler leaves it alone
-- until a person replays it.
UPDATE hooklatch.processed_events
SET
    outcome = 'failed',
    processed_at = now(),
    error = $4
WHERE source = $1
    AND event_id = $2
    AND generation = $3
    AND outcome = 'received'
