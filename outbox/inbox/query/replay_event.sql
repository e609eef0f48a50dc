-- Opens the event for another dispatch under a new generation, and records the operator and the
-- replaced dispatch (I11). The event must still have its content. An event whose dispatch failed is
-- not replayed for a single route: the effects of the other routes would be missing unnoticed. The
-- records of replays outlive the event. If its id was accepted again after retention, the new
-- generation follows those of the earlier event.
WITH before AS (
    SELECT
        p.source, p.event_id, p.accept_seq, p.delivery_id, p.received_at, p.outcome, p.processed_at, p.error,
        {{stored_in_its_day}} AS stored,
        1 + GREATEST(p.generation, (
            SELECT max(r.generation)
            FROM hooklatch.event_replays AS r
            WHERE r.source = p.source
                AND r.event_id = p.event_id
        )) AS next_generation
    FROM hooklatch.processed_events AS p
    WHERE p.source = :source
        AND p.event_id = :event_id
        AND p.outcome IN ('dispatched', 'skipped', 'failed')
        AND {{has_its_routes}}
        AND p.erased_at IS NULL
        AND p.redacted_at IS NULL
    FOR UPDATE
), kept AS (
    {{kept_for_the_event}}
), replayed AS (
    UPDATE hooklatch.processed_events AS p
    SET
        outcome = 'received',
        generation = before.next_generation,
        effect_generation = CASE WHEN :new_keys AND :route = '' THEN before.next_generation ELSE p.effect_generation END,
        processed_at = NULL,
        error = ''
    FROM before
    WHERE {{same_event locked=before}}
        AND (before.stored OR EXISTS (SELECT FROM kept))
    RETURNING
        p.source, p.event_id, p.generation, p.event_type, p.origin, p.queue, p.traceparent,
        before.outcome AS previous_outcome, before.processed_at AS previous_at, before.error AS previous_error
), recorded AS (
    INSERT INTO hooklatch.event_replays (
        source, event_id, generation, new_keys, route, requested_by, reason, previous_outcome, previous_at, previous_error, run_id
    )
    SELECT source, event_id, generation, :new_keys, :route, :requested_by, :reason, previous_outcome, previous_at, previous_error, :run_id
    FROM replayed
)
SELECT event_type, origin, queue, traceparent, generation
FROM replayed
