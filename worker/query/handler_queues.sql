-- Returns the queues that have available jobs. Each queue costs one lookup in River's index.
WITH RECURSIVE queues AS (
    (
        SELECT j.queue
        FROM hooklatch.river_job AS j
        WHERE j.state = 'available'
        ORDER BY j.queue
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT j.queue
        FROM hooklatch.river_job AS j
        WHERE j.state = 'available'
            AND j.queue > queues.queue
        ORDER BY j.queue
        LIMIT 1
    )
    FROM queues
    WHERE queues.queue IS NOT NULL
)
SELECT queue
FROM queues
WHERE queue IS NOT NULL
