-- Effects that are not finished and send what came with an event that is not there.
-- Finished ones outlive their events, and so does one that a person has tried again
-- with a body of its own.
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', of ' || e.source || '/' || e.event_id AS violation
FROM hooklatch.effects AS e
WHERE e.source <> ''
    AND e.state IN ('pending', 'started', 'in_doubt')
    AND e.request_body IS NULL
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.processed_events AS p
        WHERE p.source = e.source
            AND p.event_id = e.event_id
    )
LIMIT :limit
