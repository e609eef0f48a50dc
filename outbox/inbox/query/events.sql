-- Returns several events with their deliveries. Each event is a separate look-up, whatever the
-- statistics say. Another statement reads large bodies.
SELECT
    {{event_columns}},
    d.headers, d.content_type, CASE WHEN octet_length(d.body) <= 65536 THEN d.body END AS body,
    r.route, r.new_keys, r.previous_outcome,
    COALESCE(octet_length(d.body) > 65536, false) AS body_apart
FROM :asked AS a (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT *
    FROM hooklatch.processed_events AS e
    WHERE e.source = a.source
        AND e.event_id = a.event_id
    LIMIT 1
) AS p
LEFT JOIN LATERAL (
    {{delivery_of}}
) AS d ON true
LEFT JOIN LATERAL (
    {{route_of_replay}}
) AS r ON true
