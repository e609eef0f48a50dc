-- True if a running run exists that no process works on and that got no job in the last 15 seconds.
SELECT EXISTS (
    SELECT
    FROM hooklatch.replay_runs
    WHERE {{at_work}}
        AND {{free}}
        AND enqueued_at < now() - interval '15 seconds'
)
