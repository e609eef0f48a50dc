-- Whether the effect e was made in an hour and has a key, by the index
-- effects_wire_key (schema/query/wire_key_make.sql), and by the time alone for as long
-- as that is being built.
date_bin('1 hour', e.created_at, TIMESTAMPTZ '2000-01-01 00:00:00+00') = made.hour
    AND hashtextextended(e.idempotency_key, 0) = hashtextextended(asked.idempotency_key, 0)
    AND e.idempotency_key = asked.idempotency_key
    AND e.created_at >= made.hour
    AND e.created_at < made.hour + interval '1 hour'
