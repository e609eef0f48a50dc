-- Every stored delivery, with the hash and size of its body.
SELECT row_to_json(r)::text
FROM (
    SELECT delivery_id, source, received_at, content_type, encode(sha256(body), 'hex') AS body_hash, octet_length(body) AS body_size
    FROM (
        SELECT delivery_id, source, received_at, content_type, body
        FROM hooklatch.deliveries
        UNION ALL
        SELECT delivery_id, source, received_at, content_type, body
        FROM hooklatch.deliveries_kept
    ) AS stored
) AS r
