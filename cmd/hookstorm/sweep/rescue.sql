-- Does what River's rescuer does to the jobs of dead processes, without waiting a minute.
UPDATE hooklatch.river_job
SET state = 'available', scheduled_at = now()
WHERE state = 'running'
