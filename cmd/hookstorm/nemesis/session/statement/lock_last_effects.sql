-- Locks the latter half, in key order, of the effects that are about to be claimed or settled.
WITH busy AS (
    SELECT scope, key, generation
    FROM hooklatch.effects
    WHERE state IN ('pending', 'started', 'in_doubt')
        AND next_attempt_at < now() + interval '1 second'
), last AS (
    SELECT scope, key, generation
    FROM busy
    ORDER BY scope COLLATE "C" DESC, key COLLATE "C" DESC, generation DESC
    LIMIT (SELECT (count(*) + 1) / 2 FROM busy)
)
SELECT effects.key
FROM hooklatch.effects
JOIN last USING (scope, key, generation)
ORDER BY effects.scope COLLATE "C" DESC, effects.key COLLATE "C" DESC, effects.generation DESC
FOR UPDATE OF effects SKIP LOCKED
