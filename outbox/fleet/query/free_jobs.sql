-- Gives back the jobs of processes that have not announced themselves for :silent_seconds, and
-- wakes the processes that read the queues of these jobs. River itself does so much later, when
-- even the longest job would have timed out. A process that only seemed to be gone does no harm: an
-- effect waits for the lease of its attempt, and a dispatch is committed once. Only River gives
-- back the jobs of handlers, because a handler may still hold its transaction.
WITH held AS MATERIALIZED (
    SELECT j.id
    FROM hooklatch.river_job AS j
    WHERE j.state = 'running'
        AND (j.kind = 'effect' OR (j.kind = 'dispatch' AND j.queue = 'dispatch'))
        AND j.attempted_at < now() - make_interval(secs => :silent_seconds::float8)
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.workers AS w
            WHERE w.id = j.attempted_by[array_upper(j.attempted_by, 1)]
                AND w.seen_at > now() - make_interval(secs => :silent_seconds::float8)
        )
    ORDER BY j.id
    LIMIT 10000
    FOR UPDATE OF j SKIP LOCKED
), moved AS (
    UPDATE hooklatch.river_job AS j
    SET
        state = 'available',
        errors = array_append(j.errors, jsonb_build_object('at', now(), 'attempt', j.attempt, 'error', :error::text, 'trace', ''))
    FROM held
    WHERE j.id = ANY (ARRAY[held.id])
    RETURNING j.queue
), {{counted_and_notified}}
