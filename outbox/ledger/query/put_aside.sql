-- Cancels effects, or parks them for a person.
WITH chosen AS (
    SELECT e.scope, e.key, e.generation
    FROM hooklatch.effects AS e
    WHERE {{chosen_by_operator}}
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE
)
UPDATE hooklatch.effects AS e
SET
    state = :state,
    {{attempts_end}},
    error = :error
FROM chosen
WHERE e.scope = chosen.scope
    AND e.key = chosen.key
    AND e.generation = chosen.generation
RETURNING e.scope, e.key, e.generation, e.order_key, COALESCE(e.accept_seq, 0)
