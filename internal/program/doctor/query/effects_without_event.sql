-- Finds unfinished effects whose request is the body of an event that is missing. Finished effects
-- may outlive their events. A retried effect may outlive its event too if it has a separate body.
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
