-- Finds attempts whose number is higher than that of their effect's latest attempt.
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', attempt ' || a.attempt || ' of ' || e.attempt AS violation
FROM hooklatch.all_attempts AS a
JOIN hooklatch.effects AS e USING (scope, key, generation)
WHERE a.attempt > e.attempt
LIMIT :limit
