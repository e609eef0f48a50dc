-- The delivery of the event p, from its day's partition or, if retention dropped that partition,
-- from deliveries_kept. The latter is read only if the partition has no row.
SELECT d.headers, d.content_type, d.body
FROM (
    SELECT d.headers, d.content_type, d.body
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = p.delivery_id
        AND d.received_at = p.received_at
    UNION ALL
    SELECT k.headers, k.content_type, k.body
    FROM hooklatch.deliveries_kept AS k
    WHERE k.delivery_id = p.delivery_id
        AND k.received_at = p.received_at
) AS d
LIMIT 1
