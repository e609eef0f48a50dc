-- Finds effects that have been due for more than 5 minutes without a job. Reconcile should have
-- repaired them.
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', ' || e.state || ', due ' || e.next_attempt_at AS violation
FROM hooklatch.effects AS e
WHERE {{effect_lacks_its_job}}
    AND e.next_attempt_at < now() - interval '5 minutes'
ORDER BY e.next_attempt_at
LIMIT :limit
