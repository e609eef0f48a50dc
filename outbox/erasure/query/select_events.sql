-- The selected ones among the next :limit events, and the last of these, where the next
-- slice begins. However few are selected, a slice reads no more than its limit.
WITH slice AS (
    SELECT p.source, p.event_id, p.accept_seq, p.event_type, p.outcome, p.received_at, p.erased_at
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq > :after
        AND p.accept_seq <= :last
    ORDER BY p.accept_seq
    LIMIT :limit
), judged AS (
    SELECT
        slice.*,
        lead(slice.accept_seq) OVER (ORDER BY slice.accept_seq) IS NULL AS is_last,
        slice.erased_at IS NULL
            AND (:source = '' OR slice.source = :source)
            AND (:event_type = '' OR slice.event_type = :event_type)
            AND (:outcome = '' OR slice.outcome = :outcome)
            AND (:since::timestamptz IS NULL OR slice.received_at >= :since)
            AND (:until::timestamptz IS NULL OR slice.received_at < :until) AS selected
    FROM slice
)
SELECT selected, source, event_id, accept_seq, event_type, outcome, received_at
FROM judged
WHERE selected
    OR is_last
ORDER BY accept_seq
