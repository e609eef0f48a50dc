-- Moves an effect's running job to the queue that no worker reads.
UPDATE hooklatch.river_job AS j
SET queue = :aside_queue
WHERE j.id = :job_id
    AND j.kind = 'effect'
