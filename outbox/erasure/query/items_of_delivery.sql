-- The positions, in a delivery's body, of the delivery's events that are not erased.
SELECT p.item
FROM hooklatch.events_of_delivery(:delivery_id, :received_at, :accept_seq) AS one
JOIN hooklatch.processed_events AS p ON p.source = one.source AND p.event_id = one.event_id
WHERE NOT one.erased
