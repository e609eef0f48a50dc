-- The place of a run that a worker has in its hands, which nobody else changes until this
-- transaction ends. No row: a person stopped it, or another worker took over.
SELECT place, per_second
FROM hooklatch.replay_runs
WHERE id = :id
    AND worker = :worker
    AND {{at_work}}
FOR UPDATE
