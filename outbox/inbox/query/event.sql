SELECT
    {{event_columns}},
    d.headers, d.content_type, d.body,
    r.route, r.new_keys, r.previous_outcome
FROM hooklatch.processed_events AS p
LEFT JOIN LATERAL (
    {{delivery_of}}
) AS d ON true
LEFT JOIN LATERAL (
    {{route_of_replay}}
) AS r ON true
WHERE p.source = :source
    AND p.event_id = :event_id
