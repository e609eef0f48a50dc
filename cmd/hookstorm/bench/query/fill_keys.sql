INSERT INTO pg_temp.filling (n, id, changes)
SELECT
    k.n, k.id,
    jsonb_build_object(
        'event_id', k.id,
        'key', k.id,
        'accept_seq', k.n,
        'effect_id', k.n,
        'job_id', k.n,
        'acceptance_id', md5('acceptance' || k.n)::uuid,
        'delivery_id', md5('delivery' || k.n)::uuid
    ) || CASE WHEN $6::float8 > 0 THEN jsonb_build_object('received_at', k.at, 'created_at', k.at) ELSE '{}' END
FROM (
    SELECT
        n,
        'evt_' || CASE
            WHEN $5 THEN lpad(to_hex(1700000000000000000 + n * 1000000), 16, '0') || '00000000'
            -- The keys are spread like random ones, but created in ascending order, so that each
            -- index is written from its beginning to its end.
            ELSE lpad(to_hex((n - $3::bigint) * (4294967296 / ($4::bigint - $3 + 1))), 8, '0') || left(md5(n::text), 16)
        END AS id,
        now() - ($4 - n) * make_interval(secs => $6) AS at
    FROM generate_series($1::bigint, $2::bigint) AS n
) AS k
