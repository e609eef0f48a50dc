-- The bytes an event came in, for an effect that sends them as they are.
SELECT p.item, d.content_type, d.body
FROM hooklatch.processed_events AS p
CROSS JOIN LATERAL (
    {{delivery_of}}
) AS d
WHERE p.source = :source
    AND p.event_id = :event_id
