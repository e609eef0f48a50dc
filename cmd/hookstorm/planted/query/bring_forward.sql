-- Makes jobs run now that would wait for their time.
UPDATE hooklatch.river_job
SET scheduled_at = now(), state = 'available'
WHERE kind IN ('dispatch', 'effect')
    AND state IN ('retryable', 'scheduled')
