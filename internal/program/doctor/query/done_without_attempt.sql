-- Finds effects that are done without an attempt that the receiver confirmed.
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination AS violation
FROM hooklatch.effects AS e
WHERE e.state = 'done'
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.attempts AS a
        WHERE a.effect_id = e.effect_id
            AND a.applied = 'yes'
    )
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.effect_attempts AS a
        WHERE a.scope = e.scope
            AND a.key = e.key
            AND a.generation = e.generation
            AND a.applied = 'yes'
    )
LIMIT :limit
