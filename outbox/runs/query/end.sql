-- Ends a run that a worker holds.
UPDATE hooklatch.replay_runs
SET
    state = :state,
    error = :error,
    filter = :filter,
    since = now(),
    worker = NULL,
    leased_until = '-infinity'
WHERE id = :id
    AND worker = :worker
    AND {{at_work}}
