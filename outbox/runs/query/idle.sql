-- Whether a run is to go on that no process is at, and that was given no job just now.
SELECT EXISTS (
    SELECT
    FROM hooklatch.replay_runs
    WHERE {{at_work}}
        AND {{free}}
        AND enqueued_at < now() - interval '15 seconds'
)
