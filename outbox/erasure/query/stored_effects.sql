-- Of the effects that the export contains, the effects that are still stored.
SELECT e.scope, e.key, e.generation, e.idempotency_key, e.state
FROM :effects AS asked (scope text, key text, generation integer, row_id bigint)
CROSS JOIN LATERAL (
    SELECT e.scope, e.key, e.generation, e.idempotency_key, e.state
    FROM hooklatch.effects AS e
    WHERE e.scope = asked.scope
        AND e.key = asked.key
        AND e.generation = asked.generation
        AND e.effect_id = asked.row_id -- later effects may have the same key
    OFFSET 0 -- forces one look-up per effect
) AS e
ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
