-- Every change to an effect's state.
SELECT row_to_json(r)::text
FROM (
    SELECT scope, key, generation, id, from_state, to_state, attempt, at, reason
    FROM hooklatch.effect_transitions
) AS r
