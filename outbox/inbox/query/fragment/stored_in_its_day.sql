-- Whether the delivery of the event p is in its day. A transaction that detaches the day waits
-- for this one, and then checks what is needed.
EXISTS (
    SELECT
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = p.delivery_id
        AND d.received_at = p.received_at
)
