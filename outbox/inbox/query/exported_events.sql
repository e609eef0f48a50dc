-- Decodes events from the rows of an export, in the order of :asked.
SELECT
    {{event_columns}},
    d.headers, d.content_type, NULL::bytea AS body,
    NULL::text AS route, NULL::boolean AS new_keys, NULL::text AS previous_outcome
FROM jsonb_array_elements(:asked::jsonb) WITH ORDINALITY AS a (exported, number)
CROSS JOIN LATERAL jsonb_populate_record(NULL::hooklatch.processed_events, a.exported -> 'event') AS p
CROSS JOIN LATERAL jsonb_populate_record(NULL::hooklatch.deliveries_kept, a.exported -> 'delivery') AS d
ORDER BY a.number
