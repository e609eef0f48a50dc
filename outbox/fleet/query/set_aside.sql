-- Sends the job of an effect, which is being run, to the queue that nobody works.
UPDATE hooklatch.river_job AS j
SET queue = :aside_queue
WHERE j.id = :job_id
    AND j.kind = 'effect'
