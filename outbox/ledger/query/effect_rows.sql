-- Returns several effects without their bodies. Postgres finds each effect by its key, whatever the
-- statistics say.
SELECT
    {{effect_columns}},
    NULL::bytea AS request_body, e.state, e.lease_until, e.next_attempt_at
FROM :asked AS a (scope text, key text, generation integer)
CROSS JOIN LATERAL (
    SELECT *
    FROM hooklatch.effects AS f
    WHERE f.scope = a.scope
        AND f.key = a.key
        AND f.generation = a.generation
    LIMIT 1
) AS e
