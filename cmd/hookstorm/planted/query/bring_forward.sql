-- Makes scheduled jobs run now.
UPDATE hooklatch.river_job
SET scheduled_at = now(), state = 'available'
WHERE kind IN ('dispatch', 'effect')
    AND state IN ('retryable', 'scheduled')
