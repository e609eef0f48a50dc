-- The number of deliveries of a day, and a checksum of their ids.
SELECT count(*), COALESCE(bit_xor(('x' || right(d.delivery_id::text, 12))::bit(48)::bigint), 0)
FROM hooklatch.deliveries AS d
WHERE d.received_at >= :from
    AND d.received_at < :until
