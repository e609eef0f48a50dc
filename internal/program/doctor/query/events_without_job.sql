-- Finds events that were received more than 5 minutes ago, are not dispatched and have no job.
-- Reconcile should have repaired them.
SELECT count(*) OVER () AS total, p.source || '/' || p.event_id || ', received ' || p.received_at AS violation
FROM hooklatch.processed_events AS p
WHERE {{event_lacks_its_job}}
    AND p.received_at < now() - interval '5 minutes'
ORDER BY p.received_at
LIMIT :limit
