SELECT count(*) OVER () AS total,
    e.idempotency_key || ' to ' || e.destination || ', ' || date_trunc('second', now() - COALESCE(e.finished_at, e.created_at)) || ' ago: ' || e.error AS violation
FROM hooklatch.effects AS e
WHERE e.state = 'parked'
ORDER BY e.finished_at DESC
LIMIT $1
