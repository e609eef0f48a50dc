SELECT count(*) OVER () AS total, p.source || '/' || p.event_id || ': ' || p.error AS violation
FROM hooklatch.processed_events AS p
WHERE p.outcome = 'failed'
ORDER BY p.accept_seq DESC
LIMIT $1
