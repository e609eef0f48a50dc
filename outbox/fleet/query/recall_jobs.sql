-- Moves the first jobs set aside for a destination back to its queue, unless the destination is
-- paused, and wakes the processes that read the queue. A scheduled_at in the future is set to now,
-- so that the job can run immediately. The process that wrote it may have a clock ahead of the
-- database's clock.
WITH first AS MATERIALIZED (
    SELECT j.id, d.queue
    FROM hooklatch.destinations AS d
    CROSS JOIN LATERAL (
        SELECT j.id
        FROM hooklatch.river_job AS j
        WHERE j.state = 'available'
            AND j.queue = :aside_queue
        ORDER BY j.priority, j.scheduled_at, j.id
        LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS j
    WHERE d.name = :destination
        AND NOT d.operator_paused
        AND d.breaker_state = 'closed'
), moved AS (
    UPDATE hooklatch.river_job AS j
    SET
        queue = first.queue,
        scheduled_at = LEAST(j.scheduled_at, now())
    FROM first
    WHERE j.id = first.id
    RETURNING j.queue
), {{counted_and_notified}}
