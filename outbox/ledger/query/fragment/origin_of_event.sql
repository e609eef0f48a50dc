-- The origin of the event of the effect e, which decides the priority of the effect's job. An
-- effect without an event, or whose event retention has deleted, counts as caused by a webhook.
COALESCE((
    SELECT p.origin
    FROM hooklatch.processed_events AS p
    WHERE p.source = e.source
        AND p.event_id = e.event_id
), 'webhook')
