-- A slice of the events from a position, in order of arrival.
SELECT p.accept_seq, p.delivery_id, p.received_at
FROM hooklatch.processed_events AS p
WHERE p.accept_seq > :after
    AND p.accept_seq <= :until
ORDER BY p.accept_seq
LIMIT :look
