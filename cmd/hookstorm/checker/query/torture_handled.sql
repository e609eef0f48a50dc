-- The rows that handlers wrote.
SELECT row_to_json(r)::text
FROM (
    SELECT source, event_id, generation, at
    FROM torture.handled
) AS r
