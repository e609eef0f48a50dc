-- Stores an exported event and its delivery again, if they are not stored. The generation is at
-- least the generation of the last recorded replay. The event has the outcome imported until
-- restore_outcome.sql changes it. In a cell that the source has left, a trigger refuses inserted
-- events with any other outcome, because it takes them for new ones.
WITH restored AS (
    INSERT INTO hooklatch.processed_events AS p
    SELECT (jsonb_populate_record(
        NULL::hooklatch.processed_events,
        :event::jsonb || jsonb_build_object('outcome', 'imported', 'generation', GREATEST((:event::jsonb ->> 'generation')::integer, (
            SELECT max(r.generation)
            FROM hooklatch.event_replays AS r
            WHERE r.source = :source
                AND r.event_id = :event_id
        )))
    )).*
    ON CONFLICT DO NOTHING
    RETURNING p.accept_seq
), noted AS (
    -- Retention has already passed the event's position. Its later runs find the event here.
    INSERT INTO hooklatch.events_kept (accept_seq)
    SELECT accept_seq
    FROM restored
    ON CONFLICT DO NOTHING
)
INSERT INTO hooklatch.deliveries_kept (delivery_id, received_at, source, headers, content_type, body, kept_for)
SELECT d.delivery_id, d.received_at, d.source, d.headers, d.content_type, :body, ARRAY[(:event::jsonb ->> 'accept_seq')::bigint]
FROM jsonb_populate_record(NULL::hooklatch.deliveries_kept, :delivery::jsonb) AS d
ON CONFLICT DO NOTHING
