-- The duplicates in stored deliveries. Each of these deliveries also contained a new event.
SELECT row_to_json(r)::text
FROM (
    SELECT source, event_id, delivery_id, item
    FROM hooklatch.delivery_copies
) AS r
