-- A slice of the events after a cursor, of all sources, in the order of arrival.
SELECT p.accept_seq, p.source, p.event_id, p.received_at, p.outcome, p.generation, p.processed_at
FROM hooklatch.processed_events AS p
WHERE p.accept_seq > :after
    AND p.accept_seq <= :until
ORDER BY p.accept_seq
LIMIT :look
