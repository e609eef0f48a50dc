-- Releases an event that a replay guard holds, so that it can be dispatched. A dropped event can
-- also be released while its delivery is stored. The event was never dispatched, so its generation
-- stays.
WITH before AS (
    SELECT p.source, p.event_id, p.accept_seq, p.delivery_id, p.received_at, {{stored_in_its_day}} AS stored
    FROM hooklatch.processed_events AS p
    WHERE p.source = :source
        AND p.event_id = :event_id
        AND p.outcome IN ('held', 'dropped')
        AND p.erased_at IS NULL
        AND p.redacted_at IS NULL
    FOR UPDATE
), kept AS (
    {{kept_for_the_event}}
)
UPDATE hooklatch.processed_events AS p
SET
    outcome = 'received',
    processed_at = NULL,
    error = ''
FROM before
WHERE {{same_event locked=before}}
    AND (before.stored OR EXISTS (SELECT FROM kept))
RETURNING p.event_type, p.origin, p.queue, p.traceparent
