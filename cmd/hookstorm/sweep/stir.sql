-- Starts upkeep, which otherwise runs once a minute or once an hour.
INSERT INTO hooklatch.river_job (kind, queue, args, max_attempts, state)
SELECT upkeep.kind, 'upkeep', '{}', 1, 'available'
FROM (VALUES ('upkeep.reconcile'), ('upkeep.partitions'), ('upkeep.redact')) AS upkeep (kind)
WHERE NOT EXISTS (
    SELECT FROM hooklatch.river_job AS j
    WHERE j.kind = upkeep.kind AND j.state IN ('available', 'running') AND j.created_at > now() - INTERVAL '2 seconds'
);

-- Pauses queues, as a user of River UI might do.
UPDATE hooklatch.river_queue
SET paused_at = now(), updated_at = now()
WHERE name IN ('dst_fresh', 'dst_mail', 'dst_books', 'dst_refused') AND paused_at IS NULL AND random() < 0.2;

-- Moves jobs to a queue that no process serves.
UPDATE hooklatch.river_job
SET queue = 'dst_nobody'
WHERE id IN (
    SELECT id
    FROM hooklatch.river_job
    WHERE kind = 'effect' AND state = 'available' AND queue <> 'dst_nobody'
    LIMIT 2
);

-- Rescues jobs that have been running for too long, as River's rescuer does, but sooner. Their
-- processes may be dead or late.
UPDATE hooklatch.river_job
SET state = 'available', scheduled_at = now()
WHERE state = 'running' AND attempted_at < now() - INTERVAL '4 seconds';
