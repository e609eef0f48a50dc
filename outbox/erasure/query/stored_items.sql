-- The positions, in a delivery's body, of the delivery's events that are stored and not erased. The
-- export names the delivery's events.
SELECT p.item
FROM :events AS asked (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT e.item
    FROM hooklatch.processed_events AS e
    WHERE e.source = asked.source
        AND e.event_id = asked.event_id
        AND e.delivery_id = :delivery_id
        AND e.received_at = :received_at
        AND e.erased_at IS NULL
    OFFSET 0 -- forces one look-up per event
) AS p
