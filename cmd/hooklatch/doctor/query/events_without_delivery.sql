-- Events whose delivery is gone although the partition of its day is there:
-- retention drops whole days.
WITH bodiless AS (
    SELECT p.source, p.event_id
    FROM hooklatch.processed_events AS p
    WHERE to_regclass('hooklatch.deliveries_' || to_char(p.received_at AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.deliveries AS d
            WHERE d.delivery_id = p.delivery_id
                AND d.received_at = p.received_at -- which names the partition
        )
)
SELECT count(*) OVER () AS total, source || '/' || event_id AS violation
FROM bodiless
LIMIT :limit
