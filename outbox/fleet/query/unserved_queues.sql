-- Returns the queues that contain waiting jobs and from which no running process takes effects. The
-- search takes one step through River's index for each queue and state.
WITH RECURSIVE waiting AS (
    (
        SELECT j.state, j.queue
        FROM hooklatch.river_job AS j
        ORDER BY j.state, j.queue
        LIMIT 1
    )
    UNION ALL
    SELECT following.state, following.queue
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT j.state, j.queue
        FROM hooklatch.river_job AS j
        WHERE (j.state, j.queue) > (waiting.state, waiting.queue)
        ORDER BY j.state, j.queue
        LIMIT 1
    ) AS following
)
SELECT DISTINCT waiting.queue
FROM waiting
WHERE waiting.state IN ('available', 'pending', 'retryable', 'scheduled')
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.workers AS w
        WHERE w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
            AND waiting.queue = ANY (w.queues)
    )
