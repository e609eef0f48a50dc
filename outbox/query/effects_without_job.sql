-- Unfinished effects that no live job will attempt or settle.
WITH live AS (
    SELECT j.args ->> 'scope' AS scope, j.args ->> 'key' AS key, (j.args ->> 'generation')::integer AS generation
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
SELECT e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, e.traceparent
FROM hooklatch.effects AS e
WHERE e.state IN ('pending', 'started', 'in_doubt')
    AND e.created_at < now() - make_interval(secs => $1::float8)
    AND NOT EXISTS (
        SELECT
        FROM live
        WHERE live.scope = e.scope
            AND live.key = e.key
            AND live.generation = e.generation
    )
ORDER BY e.next_attempt_at
LIMIT $2
