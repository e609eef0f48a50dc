-- The fence of T2: marks the events that are still to be dispatched, in key
-- order. An event without a row back was dispatched before, or replayed since.
WITH planned AS (
    SELECT f.*
    FROM :planned AS f (source text, event_id text, generation integer, outcome text, config_hash text)
    ORDER BY f.source COLLATE "C", f.event_id COLLATE "C"
), locked AS (
    -- Each by a look-up of its own, and the row as it is under the lock, which may
    -- be newer than the snapshot.
    SELECT planned.*, stands.generation AS now_generation, stands.outcome AS now_outcome
    FROM planned
    CROSS JOIN LATERAL (
        SELECT p.generation, p.outcome
        FROM hooklatch.processed_events AS p
        WHERE p.source = planned.source
            AND p.event_id = planned.event_id
        FOR UPDATE
    ) AS stands
)
UPDATE hooklatch.processed_events AS p
SET
    outcome = locked.outcome,
    processed_at = now(),
    config_hash = locked.config_hash,
    error = ''
FROM locked
WHERE {{same_event}}
    AND locked.now_generation = locked.generation
    AND locked.now_outcome = 'received'
RETURNING p.source, p.event_id
