-- Sends the job of an effect, which is being run by somebody who cannot work it,
-- to the queue of its destination.
UPDATE hooklatch.river_job AS j
SET queue = d.queue
FROM hooklatch.destinations AS d
WHERE j.id = :job_id
    AND j.kind = 'effect'
    AND d.name = j.args ->> 'destination'
    AND d.queue <> j.queue
