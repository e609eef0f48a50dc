-- The next deliveries of a day. Their bodies have at most :bytes bytes in total, except that the
-- first delivery is always returned. The copies are the parts of a delivery that repeat events of
-- other deliveries or of other parts.
SELECT
    d.delivery_id, d.body, d.columns,
    COALESCE((
        SELECT jsonb_agg(jsonb_build_object('source', c.source, 'event_id', c.event_id, 'item', c.item) ORDER BY c.item)
        FROM hooklatch.delivery_copies AS c
        WHERE c.delivery_id = d.delivery_id
            AND c.received_at = d.received_at
    ), '[]') AS copies
FROM (
    SELECT
        n.delivery_id, n.received_at, n.body, to_jsonb(n) - 'body' AS columns,
        row_number() OVER following AS number,
        sum(octet_length(n.body)) OVER following AS bytes
    FROM (
        SELECT d.*
        FROM hooklatch.deliveries AS d
        WHERE d.received_at >= :from
            AND d.received_at < :until
            AND d.delivery_id > :after
        ORDER BY d.delivery_id
        LIMIT :look
    ) AS n
    WINDOW following AS (ORDER BY n.delivery_id)
) AS d
WHERE d.number = 1
    OR d.bytes <= :bytes
ORDER BY d.delivery_id
