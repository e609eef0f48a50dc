-- Copies the jobs of current work, because a job may run twice. $1 is a job kind, $2 a
-- destination, or empty.
WITH copied AS (
    INSERT INTO hooklatch.river_job (state, args, kind, max_attempts, metadata, priority, queue, scheduled_at, tags)
    SELECT 'available', args, kind, max_attempts, metadata, priority, queue, now(), tags
    FROM hooklatch.river_job
    WHERE kind = $1
        AND state IN ('running', 'scheduled') -- scheduled: fallback jobs
        AND ($2 = '' OR args ->> 'destination' = $2)
    RETURNING queue
), told AS (
    SELECT pg_notify('hooklatch.river_insert', jsonb_build_object('queue', queue)::text)
    FROM copied
)
SELECT count(*)
FROM told
