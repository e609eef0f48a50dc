-- Returns the body of an event's delivery, for an effect that sends it unchanged.
SELECT p.item, d.content_type, d.body
FROM hooklatch.processed_events AS p
CROSS JOIN LATERAL (
    {{delivery_of}}
) AS d
WHERE p.source = :source
    AND p.event_id = :event_id
