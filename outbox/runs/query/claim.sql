-- Takes a run that nobody works off into the hands of a worker, or once more into its own.
-- What it does is something that this process can do.
UPDATE hooklatch.replay_runs
SET
    worker = :worker,
    leased_until = now() + :lease_seconds * interval '1 second'
WHERE id = :id
    AND {{at_work}}
    AND action = ANY (:actions::text[])
    AND ({{free}} OR worker = :worker)
RETURNING id
