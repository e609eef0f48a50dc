-- Reads a slice of the kept deliveries. Deletes deliveries that no event needs any more. An event
-- needs its delivery while the event is received, failed or held, and for a while after its
-- dispatch. It also needs the delivery while one of its effects does.
WITH looked AS MATERIALIZED (
    SELECT k.delivery_id, k.received_at, k.kept_for
    FROM hooklatch.deliveries_kept AS k
    WHERE k.delivery_id > :after
    ORDER BY k.delivery_id, k.received_at
    LIMIT :look
), gone AS (
    DELETE FROM hooklatch.deliveries_kept AS k
    USING looked
    WHERE k.delivery_id = looked.delivery_id
        AND k.received_at = looked.received_at
        AND k.kept_for = looked.kept_for
        AND NOT EXISTS (
            SELECT
            FROM unnest(looked.kept_for) AS f (accept_seq)
            WHERE EXISTS (SELECT FROM unnest(:needed::bigint[]) AS n (accept_seq) WHERE n.accept_seq = f.accept_seq)
                OR EXISTS (
                    SELECT
                    FROM hooklatch.processed_events AS p
                    WHERE p.accept_seq = f.accept_seq
                        AND (p.outcome IN ('received', 'failed', 'held') OR p.processed_at >= :since)
                )
        )
    RETURNING k.delivery_id
)
SELECT
    (SELECT count(*) FROM looked) AS looked,
    (SELECT count(*) FROM gone) AS gone,
    (SELECT delivery_id FROM looked ORDER BY delivery_id DESC LIMIT 1) AS last
