-- The places of the events of a delivery in its body, without erased ones.
SELECT p.item
FROM hooklatch.events_of_delivery(:delivery_id, :received_at, :accept_seq) AS one
JOIN hooklatch.processed_events AS p ON p.source = one.source AND p.event_id = one.event_id
WHERE NOT one.erased
