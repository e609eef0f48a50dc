-- Releases a run, so that another worker can continue it immediately. The reason why the run could
-- not continue stays until the run continues.
UPDATE hooklatch.replay_runs
SET
    worker = NULL,
    leased_until = '-infinity',
    error = CASE WHEN :error = '' THEN error ELSE :error END
WHERE id = :id
    AND worker = :worker
