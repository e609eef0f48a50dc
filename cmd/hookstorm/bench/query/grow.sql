INSERT INTO hooklatch.processed_events OVERRIDING SYSTEM VALUE
SELECT grown.*
FROM (SELECT sample FROM hooklatch.processed_events AS sample LIMIT 1) AS accepted
CROSS JOIN generate_series($1::bigint, $2::bigint) AS n
CROSS JOIN LATERAL jsonb_populate_record(accepted.sample, jsonb_build_object(
    'event_id', 'evt_' || CASE
        WHEN $3 THEN left(md5(n::text), 24)
        ELSE lpad(to_hex(1700000000000000000 + n * 1000000), 16, '0') || '00000000'
    END,
    'accept_seq', n + 1000,
    'acceptance_id', md5('acceptance' || n)::uuid,
    'delivery_id', md5('delivery' || n)::uuid,
    'outcome', 'dispatched'
)) AS grown
