-- Locks and returns the event of an effect that is resent. An erasure or redaction of the event
-- waits until the new effect is committed, and then includes it.
SELECT event_type, accept_seq, generation, COALESCE(occurred_at, received_at), origin, erased_at IS NOT NULL OR redacted_at IS NOT NULL
FROM hooklatch.processed_events
WHERE source = :source
    AND event_id = :event_id
FOR SHARE
