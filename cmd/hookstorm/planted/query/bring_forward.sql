-- Jobs that wait for their time need not.
UPDATE hooklatch.river_job
SET scheduled_at = now(), state = 'available'
WHERE kind IN ('dispatch', 'effect')
    AND state IN ('retryable', 'scheduled')
