-- Counts the work whose result a later event may depend on: events that are held or not dispatched
-- yet, and unfinished or parked effects that block later effects of their order.
SELECT
    (
        SELECT count(*)
        FROM hooklatch.processed_events AS p
        WHERE p.source = ANY (ARRAY[:source::text])
            AND p.outcome = 'received'
    ) AS undispatched,
    (
        SELECT count(*)
        FROM hooklatch.processed_events AS p
        WHERE p.outcome IN ('failed', 'held')
            AND p.outcome = 'held'
            AND p.source = :source::text
    ) AS held,
    (
        SELECT count(*)
        FROM hooklatch.effects AS e
        WHERE e.order_key <> ''
            AND e.state IN ('pending', 'started', 'in_doubt')
            AND e.source = :source::text
    ) AS ordered,
    (
        SELECT count(*)
        FROM hooklatch.effects AS e
        WHERE e.order_key <> ''
            AND e.state = 'parked'
            AND e.on_park = 'block'
            AND e.source = :source::text
    ) AS parked
