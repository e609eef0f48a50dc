-- Returns the runs that idle.sql looks for, and stores the time at which they get their jobs. The
-- same transaction inserts the jobs.
UPDATE hooklatch.replay_runs
SET enqueued_at = now()
WHERE {{at_work}}
    AND {{free}}
    AND enqueued_at < now() - interval '15 seconds'
RETURNING id
