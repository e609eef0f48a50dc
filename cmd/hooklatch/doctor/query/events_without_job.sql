-- Events that wait for their dispatch for minutes without a live job.
WITH live AS (
    SELECT j.args ->> 'source' AS source, j.args ->> 'event_id' AS event_id
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'dispatch'
        AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
SELECT count(*) OVER () AS total, p.source || '/' || p.event_id || ', received ' || p.received_at AS violation
FROM hooklatch.processed_events AS p
WHERE p.outcome = 'received'
    AND p.received_at < now() - interval '5 minutes'
    AND NOT EXISTS (
        SELECT
        FROM live
        WHERE live.source = p.source
            AND live.event_id = p.event_id
    )
ORDER BY p.received_at
LIMIT :limit
