-- Returns the time at which a delivery was received, or no row if the delivery is not stored. The
-- statement makes one look-up per partition.
SELECT d.received_at
FROM (
    SELECT d.received_at
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = :delivery_id
    UNION ALL
    SELECT k.received_at
    FROM hooklatch.deliveries_kept AS k
    WHERE k.delivery_id = :delivery_id
) AS d
LIMIT 1
