-- The delivery of the event p, from its day or, if retention dropped that, from the rows
-- kept of it. The second is looked up only if the first has no row.
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
