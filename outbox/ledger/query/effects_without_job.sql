-- Unfinished effects that no live job will attempt or settle.
WITH live AS (
    SELECT j.args ->> 'scope' AS scope, j.args ->> 'key' AS key, (j.args ->> 'generation')::integer AS generation
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
SELECT e.scope, e.key, e.generation, e.destination, COALESCE(d.queue, e.queue) AS queue, e.source, e.event_id, e.event_type, e.traceparent
FROM hooklatch.effects AS e
LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
WHERE e.state IN ('pending', 'started', 'in_doubt')
    -- Of an order only the first has a job, and one that is at work.
    AND (e.order_key = '' OR e.state = 'started' OR NOT {{behind_in_order}})
    AND e.created_at < now() - make_interval(secs => :grace_seconds::float8)
    AND NOT EXISTS (
        SELECT
        FROM live
        WHERE live.scope = e.scope
            AND live.key = e.key
            AND live.generation = e.generation
    )
ORDER BY e.next_attempt_at
LIMIT :limit
