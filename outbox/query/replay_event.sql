-- Opens the event for one more dispatch under a new generation, and records who
-- asked for it (I11).
WITH replayed AS (
    UPDATE hooklatch.processed_events
    SET
        outcome = 'received',
        generation = generation + 1,
        effect_generation = CASE WHEN $3 THEN generation + 1 ELSE effect_generation END,
        processed_at = NULL,
        error = ''
    WHERE source = $1
        AND event_id = $2
        AND outcome <> 'received'
    RETURNING source, event_id, generation, event_type, received_at, queue, traceparent
), recorded AS (
    INSERT INTO hooklatch.event_replays (source, event_id, generation, new_keys, requested_by)
    SELECT source, event_id, generation, $3, $4
    FROM replayed
)
SELECT event_type, received_at, queue, traceparent, generation
FROM replayed
