-- Returns every transition of an effect, after a row for its creation. The view effect_transitions
-- has no row for the creation, so the first row comes from the effect.
WITH steps AS (
    SELECT t.from_state, t.to_state, t.attempt, t.at, t.reason, COALESCE(t.job_id, 0) AS job_id, t.id
    FROM hooklatch.effect_transitions AS t
    WHERE t.scope = :scope
        AND t.key = :key
        AND t.generation = :generation
)
SELECT
    '' AS from_state, COALESCE((SELECT first.from_state FROM steps AS first ORDER BY first.id LIMIT 1), e.state) AS to_state,
    0 AS attempt, e.created_at AS at, '' AS reason, 0::bigint AS job_id, 0::bigint AS id
FROM hooklatch.effects AS e
WHERE e.scope = :scope
    AND e.key = :key
    AND e.generation = :generation
UNION ALL
SELECT from_state, to_state, attempt, at, reason, job_id, id
FROM steps
ORDER BY id
