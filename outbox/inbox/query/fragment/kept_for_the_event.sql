-- This statement marks the delivery's row in deliveries_kept as needed by the event in the CTE
-- "before", if the delivery is no longer in its day's partition. A transaction that is about to
-- delete the kept row waits for this change, and then leaves the row. If the kept row is already
-- deleted, no row is returned.
UPDATE hooklatch.deliveries_kept AS k
SET kept_for = k.kept_for || before.accept_seq
FROM before
WHERE k.delivery_id = ANY (ARRAY[before.delivery_id])
    AND k.received_at = before.received_at
    AND NOT before.stored
RETURNING k.delivery_id
