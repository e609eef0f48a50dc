-- Returns the events of a delivery. It searches only the positions near the delivery's time.
SELECT near.source, near.event_id
FROM (
    SELECT p.accept_seq, p.source, p.event_id, p.delivery_id
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq >= :after
        AND p.accept_seq < :before
    ORDER BY p.accept_seq
) AS near
WHERE near.delivery_id = :delivery_id
LIMIT :limit
