-- Rescues the jobs of dead processes as River's rescuer does, without waiting a minute.
UPDATE hooklatch.river_job
SET state = 'available', scheduled_at = now()
WHERE state = 'running'
