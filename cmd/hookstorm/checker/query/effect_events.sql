-- The links from events to effects.
SELECT row_to_json(r)::text
FROM (
    SELECT source, event_id, scope, key, generation, suppressed, linked_at
    FROM hooklatch.all_links
) AS r
