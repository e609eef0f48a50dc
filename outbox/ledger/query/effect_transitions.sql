-- Every transition of an effect. Its creation is not a row of its own.
SELECT '' AS from_state, CASE WHEN t.from_state IS NULL THEN e.state ELSE t.from_state END AS to_state, 0 AS attempt, e.created_at AS at, '' AS reason, 0::bigint AS job_id, 0::bigint AS id
FROM hooklatch.effects AS e
LEFT JOIN LATERAL (
    SELECT first.from_state
    FROM hooklatch.effect_transitions AS first
    WHERE first.scope = e.scope
        AND first.key = e.key
        AND first.generation = e.generation
    ORDER BY first.id
    LIMIT 1
) AS t ON true
WHERE e.scope = :scope
    AND e.key = :key
    AND e.generation = :generation
UNION ALL
SELECT t.from_state, t.to_state, t.attempt, t.at, t.reason, COALESCE(t.job_id, 0), t.id
FROM hooklatch.effect_transitions AS t
WHERE t.scope = :scope
    AND t.key = :key
    AND t.generation = :generation
ORDER BY id
