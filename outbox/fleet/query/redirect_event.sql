-- Moves an event's job to another queue. The process that runs the job leaves the event to the
-- processes that read that queue.
UPDATE hooklatch.river_job AS j
SET queue = :queue
WHERE j.id = :job_id
    AND j.kind = 'dispatch'
