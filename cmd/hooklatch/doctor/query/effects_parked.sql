SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ': ' || e.error AS violation
FROM hooklatch.effects AS e
WHERE e.state = 'parked'
ORDER BY e.finished_at DESC
LIMIT $1
