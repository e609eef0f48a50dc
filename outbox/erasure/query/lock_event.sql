-- The state of an event, as far as an erasure needs it. The event's dispatch, its replay and other
-- erasures wait for the row lock.
SELECT accept_seq, delivery_id, received_at, item, outcome, erased_at, redacted_at, processed_at, now()
FROM hooklatch.processed_events
WHERE source = :source
    AND event_id = :event_id
FOR UPDATE
