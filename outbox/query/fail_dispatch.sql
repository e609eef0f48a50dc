-- The last attempt to dispatch the event failed: the reconciler leaves it alone
-- until a person replays it.
UPDATE hooklatch.processed_events
SET
    outcome = 'failed',
    processed_at = now(),
    error = :error
WHERE source = :source
    AND event_id = :event_id
    AND generation = :generation
    AND outcome = 'received'
