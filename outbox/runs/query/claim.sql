-- Claims a free run for a worker, or renews the worker's claim, if this process can perform the
-- run's action.
UPDATE hooklatch.replay_runs
SET
    worker = :worker,
    leased_until = now() + :lease_seconds * interval '1 second'
WHERE id = :id
    AND {{at_work}}
    AND action = ANY (:actions::text[])
    AND ({{free}} OR worker = :worker)
RETURNING id
