-- Removes deleted events from a slice of the kept events. Returns the last event of the slice.
WITH looked AS MATERIALIZED (
    SELECT k.accept_seq
    FROM hooklatch.events_kept AS k
    WHERE k.accept_seq > :after
    ORDER BY k.accept_seq
    LIMIT :look
), forgotten AS (
    DELETE FROM hooklatch.events_kept AS k
    USING looked
    WHERE k.accept_seq = looked.accept_seq
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.processed_events AS p
            WHERE p.accept_seq = looked.accept_seq
            LIMIT 1
        )
)
SELECT max(accept_seq)
FROM looked
