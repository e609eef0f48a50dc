-- The next events after a position, in order of their positions.
SELECT p.accept_seq, p.delivery_id, p.received_at
FROM hooklatch.processed_events AS p
WHERE p.accept_seq > :after
    AND p.accept_seq <= :until
ORDER BY p.accept_seq
LIMIT :look
