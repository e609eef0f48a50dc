-- Whether the delivery of the event p is in its day. Whoever takes the day out of the
-- table waits for this transaction, and then looks what is needed.
EXISTS (
    SELECT
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = p.delivery_id
        AND d.received_at = p.received_at
)
