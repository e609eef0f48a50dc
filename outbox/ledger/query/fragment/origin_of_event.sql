-- The origin of the effect e's event. It decides the priority of the effect's job. An effect
-- without an event, or with an event that retention has deleted, counts as caused by a webhook.
COALESCE((
    SELECT p.origin
    FROM hooklatch.processed_events AS p
    WHERE p.source = e.source
        AND p.event_id = e.event_id
), 'webhook')
