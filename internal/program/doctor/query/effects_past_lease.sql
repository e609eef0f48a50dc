-- Finds started effects whose lease expired more than 10 minutes ago, or was taken before the clock
-- was set back.
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', attempt ' || e.attempt || ', lease until ' || e.lease_until AS violation
FROM hooklatch.effects AS e
WHERE e.state = 'started'
    AND {{lease_over}}
    AND NOT e.lease_until BETWEEN now() - interval '10 minutes' AND now()
ORDER BY e.lease_until
LIMIT :limit
