-- Decodes effects from the rows of an export.
SELECT
    {{effect_columns}},
    e.request_body, e.state, e.lease_until, e.next_attempt_at,
    (x.exported ->> 'suppressed')::boolean, x.exported -> 'attempts', x.exported -> 'transitions'
FROM jsonb_array_elements(:effects::jsonb) WITH ORDINALITY AS x (exported, number)
CROSS JOIN LATERAL jsonb_populate_record(NULL::hooklatch.effects, x.exported -> 'effect') AS e
ORDER BY x.number
