-- Moves the job of an effect to the queue of its destination. A process that cannot work it is
-- running it.
UPDATE hooklatch.river_job AS j
SET queue = d.queue
FROM hooklatch.destinations AS d
WHERE j.id = :job_id
    AND j.kind = 'effect'
    AND d.name = j.args ->> 'destination'
    AND d.queue <> j.queue
