-- Deliveries that repeat events next to new ones.
SELECT row_to_json(r)::text
FROM (
    SELECT source, event_id, delivery_id, item
    FROM hooklatch.delivery_copies
) AS r
