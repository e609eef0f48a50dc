-- Deletes notes about copies in deleted deliveries, oldest first.
DELETE FROM hooklatch.delivery_copies AS c
USING (
    SELECT o.source, o.event_id, o.delivery_id, o.item
    FROM hooklatch.delivery_copies AS o
    WHERE o.received_at < :before
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.deliveries_kept AS k
            WHERE k.delivery_id = o.delivery_id
                AND k.received_at = o.received_at
            OFFSET 0 -- forces one look-up for each row
        )
    ORDER BY o.received_at
    LIMIT :look
) AS old
WHERE c.source = ANY (ARRAY[old.source])
    AND c.event_id = old.event_id
    AND c.delivery_id = old.delivery_id
    AND c.item = old.item
