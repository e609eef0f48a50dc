-- The duplicates in deliveries that are stored because they also contained new events.
SELECT row_to_json(r)::text
FROM (
    SELECT source, event_id, delivery_id, item
    FROM hooklatch.delivery_copies
) AS r
