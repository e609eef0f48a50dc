-- Moves a run to another state for an operator.
UPDATE hooklatch.replay_runs
SET
    state = CASE WHEN NOT newer THEN :to WHEN :to = 'running' THEN 'working' WHEN :to = 'paused' THEN 'resting' ELSE :to END,
    since = now(),
    error = '',
    filter = COALESCE(:filter, filter),
    worker = NULL,
    leased_until = '-infinity',
    enqueued_at = now()
WHERE id = :id
    AND {{state}} = ANY (:from::text[])
RETURNING selected, changed
