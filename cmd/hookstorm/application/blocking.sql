-- Returns the parked effects that block later effects of their order until an operator acts.
SELECT parked.idempotency_key, parked.destination, parked.source, parked.event_id
FROM hooklatch.effects AS parked
WHERE parked.state = 'parked'
    AND parked.order_key <> ''
    AND parked.on_park = 'block'
    AND EXISTS (
        SELECT
        FROM hooklatch.effects AS later
        WHERE later.scope = parked.scope
            AND later.order_key = parked.order_key
            AND later.state IN ('pending', 'in_doubt')
    )
