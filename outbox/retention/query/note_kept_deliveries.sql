-- Notes, in the rows of kept deliveries, which of the given events need them.
UPDATE hooklatch.deliveries_kept AS k
SET kept_for = k.kept_for || asked.events
FROM (
    SELECT p.delivery_id, p.received_at, array_agg(p.accept_seq ORDER BY p.accept_seq) AS events
    FROM unnest(:events::bigint[]) AS a (accept_seq)
    CROSS JOIN LATERAL (
        SELECT e.delivery_id, e.received_at, e.accept_seq
        FROM hooklatch.processed_events AS e
        WHERE e.accept_seq = a.accept_seq
        OFFSET 0 -- forces one look-up for each row
    ) AS p
    CROSS JOIN LATERAL (
        SELECT
        FROM hooklatch.deliveries_kept AS k
        WHERE k.delivery_id = p.delivery_id
            AND k.received_at = p.received_at
            AND NOT p.accept_seq = ANY (k.kept_for)
        OFFSET 0
    ) AS lacks
    GROUP BY p.delivery_id, p.received_at
) AS asked
WHERE k.delivery_id = ANY (ARRAY[asked.delivery_id])
    AND k.received_at = asked.received_at
