-- Finds events whose delivery is missing. Received, failed and held events always need their
-- delivery. Retention drops the deliveries of other events by whole days, so these deliveries are
-- expected only while the partition of their day exists. Imported events never had a delivery.
WITH bodiless AS (
    SELECT p.source, p.event_id
    FROM hooklatch.processed_events AS p
    WHERE p.outcome <> 'imported'
        AND (
            p.outcome IN ('received', 'failed', 'held')
            OR EXISTS (
                SELECT
                FROM pg_inherits
                WHERE inhrelid = to_regclass('hooklatch.deliveries_' || to_char(p.received_at AT TIME ZONE 'UTC', 'YYYYMMDD'))
                    AND NOT inhdetachpending
            )
        )
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.deliveries_kept AS k
            WHERE k.delivery_id = p.delivery_id
                AND k.received_at = p.received_at
        )
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.deliveries AS d
            WHERE d.delivery_id = p.delivery_id
                AND d.received_at = p.received_at -- selects the partition
        )
)
SELECT count(*) OVER () AS total, source || '/' || event_id AS violation
FROM bodiless
LIMIT :limit
