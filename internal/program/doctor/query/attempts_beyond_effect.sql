-- Finds attempts with a higher number than their effect has assigned.
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', attempt ' || a.attempt || ' of ' || e.attempt AS violation
FROM hooklatch.all_attempts AS a
JOIN hooklatch.effects AS e USING (scope, key, generation)
WHERE a.attempt > e.attempt
LIMIT :limit
