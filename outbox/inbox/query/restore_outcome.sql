-- Restores the exported outcome of an event that restore_event.sql stored.
UPDATE hooklatch.processed_events AS p
SET outcome = :event::jsonb ->> 'outcome'
WHERE p.source = :source
    AND p.event_id = :event_id
    AND p.outcome = 'imported'
    AND p.accept_seq = (:event::jsonb ->> 'accept_seq')::bigint
