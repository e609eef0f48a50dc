-- Lets another worker continue immediately.
UPDATE hooklatch.replay_runs
SET
    worker = NULL,
    leased_until = '-infinity'
WHERE id = :id
    AND worker = :worker
