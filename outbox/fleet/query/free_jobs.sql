-- Returns the running jobs of lost processes to their queues, and wakes the processes that read
-- these queues. A process counts as lost if it has not announced itself for :silent_seconds. River
-- itself returns such jobs much later, when even the longest job would have timed out. A process
-- that only seemed to be gone does no harm: an effect waits for the lease of its attempt, and a
-- dispatch is committed once. The jobs of handlers are left to River, because a handler may still
-- hold its transaction.
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
