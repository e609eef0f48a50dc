-- Finds the effect that has a given key and was created in a given hour. The look-up uses the index
-- effects_wire_key (schema/query/wire_key_make.sql), or only the time while that index is being
-- built. Each case has a separate branch. With both conditions in one branch, Postgres would use
-- either index while its statistics show few rows.
(
    SELECT e.*
    FROM hooklatch.effects AS e
    WHERE {{has_wire_key}}
        AND date_bin('1 hour', e.created_at, TIMESTAMPTZ '2000-01-01 00:00:00+00') = made.hour
        AND hashtextextended(e.idempotency_key, 0) = hashtextextended(asked.idempotency_key, 0)
        AND e.idempotency_key = asked.idempotency_key
    UNION ALL
    SELECT e.*
    FROM hooklatch.effects AS e
    WHERE NOT {{has_wire_key}}
        AND e.idempotency_key = asked.idempotency_key
        AND e.created_at >= made.hour
        AND e.created_at < made.hour + interval '1 hour'
    OFFSET 0
)
