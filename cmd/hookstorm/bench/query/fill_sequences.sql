SELECT
    setval('hooklatch.accept_seq', $1::bigint),
    setval(to_regclass('hooklatch.effect_id'), $1::bigint),
    setval(pg_get_serial_sequence('hooklatch.river_job', 'id'), $1::bigint)
