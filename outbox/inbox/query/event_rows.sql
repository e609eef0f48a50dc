-- Returns several events without their deliveries. Each event is a separate look-up, whatever the
-- statistics say.
SELECT
    {{event_columns}},
    NULL::jsonb AS headers, NULL::text AS content_type, NULL::bytea AS body,
    NULL::text AS route, NULL::boolean AS new_keys, NULL::text AS previous_outcome
FROM :asked AS a (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT *
    FROM hooklatch.processed_events AS e
    WHERE e.source = a.source
        AND e.event_id = a.event_id
    LIMIT 1
) AS p
