-- Of a day that is gone: says on what was kept of it that the event in before needs it.
-- Whoever is about to delete that waits for this change, and leaves it; when it is
-- deleted already, there is no row.
UPDATE hooklatch.deliveries_kept AS k
SET kept_for = k.kept_for || before.accept_seq
FROM before
WHERE k.delivery_id = ANY (ARRAY[before.delivery_id])
    AND k.received_at = before.received_at
    AND NOT before.stored
RETURNING k.delivery_id
