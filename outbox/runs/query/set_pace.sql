-- Bounds how many are changed in a second. Whoever is at it learns it with the next batch.
UPDATE hooklatch.replay_runs
SET
    per_second = :per_second,
    next_at = '-infinity'
WHERE id = :id
    AND {{state}} IN ('running', 'paused')
RETURNING selected, changed
