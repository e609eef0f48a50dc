-- The deliveries of several events each that a source made around a time, with the first of
-- their events. How many events are looked at is bounded.
WITH RECURSIVE {{event_span}}, near AS (
    SELECT p.source, p.delivery_id, p.received_at, p.item, p.accept_seq
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq >= (SELECT span.low FROM span WHERE span.low >= span.high LIMIT 1)
    ORDER BY p.accept_seq
    LIMIT :limit
)
SELECT near.delivery_id, near.received_at, min(near.accept_seq), min(near.item)
FROM near
WHERE near.source = :source
    AND near.item <> ''
    AND near.received_at < :until
GROUP BY near.delivery_id, near.received_at
ORDER BY near.delivery_id
