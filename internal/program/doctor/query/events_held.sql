SELECT count(*) OVER () AS total, p.source || '/' || p.event_id || ', ' || p.event_type || ', held since ' || p.received_at AS violation
FROM hooklatch.processed_events AS p
WHERE p.outcome = 'held'
ORDER BY p.accept_seq DESC
LIMIT :limit
