-- The fence of T2: marks the events that are still to be dispatched, in key
-- order. An event without a row back was dispatched before, or replayed since.
WITH planned AS (
    SELECT f.*
    FROM :planned AS f (source text, event_id text, generation integer, outcome text, config_hash text)
), locked AS (
    -- Carries planned along: joining it again would compare each row with all. It
    -- compares the generation, as the UPDATE does once more: either would do.
    SELECT planned.*
    FROM hooklatch.processed_events AS p
    JOIN planned USING (source, event_id, generation)
    WHERE p.outcome = 'received'
    ORDER BY p.source COLLATE "C", p.event_id COLLATE "C"
    FOR UPDATE OF p
)
UPDATE hooklatch.processed_events AS p
SET
    outcome = planned.outcome,
    processed_at = now(),
    config_hash = planned.config_hash,
    error = ''
FROM locked AS planned
WHERE p.source = planned.source
    AND p.event_id = planned.event_id
    AND p.generation = planned.generation
    AND p.outcome = 'received'
RETURNING p.source, p.event_id
