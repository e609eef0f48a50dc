-- Undispatched events that no live job will dispatch. The grace keeps away
-- from events whose job is being inserted or finished right now.
SELECT p.source, p.event_id, p.event_type, p.received_at, p.queue, p.traceparent
FROM hooklatch.processed_events AS p
WHERE {{event_lacks_its_job}}
    AND p.received_at < now() - make_interval(secs => :grace_seconds::float8)
ORDER BY p.received_at
LIMIT :limit
