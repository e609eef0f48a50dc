-- Upkeep, which comes once a minute or an hour by itself.
INSERT INTO hooklatch.river_job (kind, queue, args, max_attempts, state)
SELECT upkeep.kind, 'upkeep', '{}', 1, 'available'
FROM (VALUES ('upkeep.reconcile'), ('upkeep.partitions'), ('upkeep.redact')) AS upkeep (kind)
WHERE NOT EXISTS (
    SELECT FROM hooklatch.river_job AS j
    WHERE j.kind = upkeep.kind AND j.state IN ('available', 'running') AND j.created_at > now() - INTERVAL '2 seconds'
);

-- Queues that somebody paused in River UI.
UPDATE hooklatch.river_queue
SET paused_at = now(), updated_at = now()
WHERE name IN ('dst_fresh', 'dst_mail', 'dst_books', 'dst_refused') AND paused_at IS NULL AND random() < 0.2;

-- Jobs in a queue that no process works.
UPDATE hooklatch.river_job
SET queue = 'dst_nobody'
WHERE id IN (
    SELECT id
    FROM hooklatch.river_job
    WHERE kind = 'effect' AND state = 'available' AND queue <> 'dst_nobody'
    LIMIT 2
);

-- What River's rescuer does to jobs that have been running for too long, with a
-- shorter time: their processes may be dead, or late.
UPDATE hooklatch.river_job
SET state = 'available', scheduled_at = now()
WHERE state = 'running' AND attempted_at < now() - INTERVAL '4 seconds';
