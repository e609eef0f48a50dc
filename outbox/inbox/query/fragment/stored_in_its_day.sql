-- True if the delivery of the event p is in its day's partition. A transaction that detaches the
-- partition waits for this transaction, and then checks which deliveries are needed.
EXISTS (
    SELECT
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = p.delivery_id
        AND d.received_at = p.received_at
)
