-- Locks a run that a worker holds until this transaction ends, and returns the run's position and
-- pace. Returns no row if an operator paused or stopped the run, or another worker took over.
SELECT place, per_second
FROM hooklatch.replay_runs
WHERE id = :id
    AND worker = :worker
    AND {{at_work}}
FOR UPDATE
