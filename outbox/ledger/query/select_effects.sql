-- The next slice of the effects that were made in a span of time, and which of
-- them are selected. Only those rows come back, and the last one, where the
-- next slice begins. However few are selected, a slice reads no more than its
-- limit.
WITH slice AS (
    SELECT
        e.created_at, e.idempotency_key, e.destination, e.route, e.policy, e.source, e.event_id, e.event_type,
        e.state, e.attempt, e.finished_at, e.maybe_applied_since, e.request_rendering, e.response_status, e.error, e.erased_at
    FROM hooklatch.effects AS e
    WHERE (e.created_at, e.idempotency_key) > (:after_time, :after_key)
        AND e.created_at <= :until
    ORDER BY e.created_at, e.idempotency_key
    LIMIT :limit
), judged AS (
    SELECT
        s.*,
        lead(s.idempotency_key) OVER (ORDER BY s.created_at, s.idempotency_key) IS NULL AS is_last,
        s.state = ANY (:states::text[])
            AND s.erased_at IS NULL
            AND COALESCE(s.finished_at, '-infinity') <= :finished_until
            AND (:destination = '' OR s.destination = :destination)
            AND (:route = '' OR s.route = :route)
            AND (:source = '' OR s.source = :source)
            AND (:type_like = '' OR s.event_type LIKE :type_like)
            AND (:policy = '' OR s.policy = :policy) AS selected
    FROM slice AS s
)
SELECT
    selected, created_at, idempotency_key, destination, route, source, event_id, event_type, state, attempt,
    maybe_applied_since, request_rendering = 'failed' AS unrendered, COALESCE(response_status, 0), error
FROM judged
WHERE selected
    OR is_last
ORDER BY created_at, idempotency_key
