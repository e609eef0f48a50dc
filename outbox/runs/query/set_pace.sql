-- Limits the changes per second. A worker of the run reads the new pace with its next batch, or
-- within seconds while it waits for that batch.
UPDATE hooklatch.replay_runs
SET
    per_second = :per_second,
    next_at = '-infinity'
WHERE id = :id
    AND {{state}} IN ('running', 'paused')
RETURNING selected, changed
