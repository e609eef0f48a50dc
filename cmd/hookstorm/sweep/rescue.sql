-- What River's rescuer does to the jobs of processes that died, without its minute.
UPDATE hooklatch.river_job
SET state = 'available', scheduled_at = now()
WHERE state = 'running'
