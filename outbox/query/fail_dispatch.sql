-- The last attempt to dispatch the event failed: the reconciler leaves it alone
-- until a person replays it.
WITH locked AS (
    SELECT p.source, p.event_id, p.generation, p.outcome
    FROM hooklatch.processed_events AS p
    WHERE p.source = :source
        AND p.event_id = :event_id
    FOR UPDATE
)
UPDATE hooklatch.processed_events AS p
SET
    outcome = 'failed',
    processed_at = now(),
    error = :error
FROM locked
WHERE {{same_event}}
    AND locked.generation = :generation
    AND locked.outcome = 'received'
