SELECT
    {{event_columns}},
    d.headers, d.content_type, d.body
FROM hooklatch.processed_events AS p
LEFT JOIN LATERAL (
    {{delivery_of}}
) AS d ON true
WHERE p.source = :source
    AND p.event_id = :event_id
