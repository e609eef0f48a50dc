-- The position of a run that a worker holds, locked until this transaction ends. No row: an
-- operator paused or stopped the run, or another worker took over.
SELECT place, per_second
FROM hooklatch.replay_runs
WHERE id = :id
    AND worker = :worker
    AND {{at_work}}
FOR UPDATE
