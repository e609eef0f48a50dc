SELECT
    {{event_columns}},
    d.headers, d.content_type, d.body
FROM hooklatch.processed_events AS p
LEFT JOIN hooklatch.deliveries AS d ON d.delivery_id = p.delivery_id AND d.received_at = p.received_at
WHERE p.source = :source
    AND p.event_id = :event_id
