-- Moves an undispatched event and its job to another queue, and returns the number of moved jobs. The
-- process that runs the job leaves the event to the processes that read that queue. Nothing is moved
-- while a process with a newer configuration has the event's source: that process decides. A gateway
-- counts for a limited time.
WITH moved AS (
    UPDATE hooklatch.processed_events AS p
    SET queue = :queue
    WHERE p.source = :source
        AND p.event_id = :event_id
        AND p.outcome = 'received'
        AND NOT EXISTS (
            SELECT
            FROM {{newer_configurations}} AS newer
            WHERE newer.sources && ARRAY[:source::text, '*']
        )
    RETURNING p.source
)
UPDATE hooklatch.river_job AS j
SET queue = :queue
FROM moved
WHERE j.id = :job_id
    AND j.kind = 'dispatch'
