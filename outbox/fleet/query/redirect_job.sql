-- Moves an effect's job to its destination's queue. The process that runs the job does not have
-- the destination.
UPDATE hooklatch.river_job AS j
SET queue = d.queue
FROM hooklatch.destinations AS d
WHERE j.id = :job_id
    AND j.kind = 'effect'
    AND d.name = j.args ->> 'destination'
    AND d.queue <> j.queue
