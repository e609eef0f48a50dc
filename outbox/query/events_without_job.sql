-- Undispatched events that no live job will dispatch. The grace keeps away
-- from events whose job is being inserted or finished right now.
WITH live AS (
    SELECT j.args ->> 'source' AS source, j.args ->> 'event_id' AS event_id
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'dispatch'
        AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
SELECT p.source, p.event_id, p.event_type, p.received_at, p.queue, p.traceparent
FROM hooklatch.processed_events AS p
WHERE p.outcome = 'received'
    AND p.received_at < now() - make_interval(secs => :grace_seconds::float8)
    AND NOT EXISTS (
        SELECT
        FROM live
        WHERE live.source = p.source
            AND live.event_id = p.event_id
    )
ORDER BY p.received_at
LIMIT :limit
