-- The next slice of the effects that were made in a span of time, and which of
-- them are selected. Only those rows come back, and the last one, where the
-- next slice begins. However few are selected, a slice reads no more than its
-- limit.
WITH slice AS (
    SELECT
        e.created_at, e.idempotency_key, e.destination, e.route, e.source, e.event_id, e.event_type,
        e.state, e.attempt, e.finished_at, e.maybe_applied_since, e.request_rendering, e.response_status, e.error
    FROM hooklatch.effects AS e
    WHERE (e.created_at, e.idempotency_key) > ($1, $2)
        AND e.created_at <= $3
    ORDER BY e.created_at, e.idempotency_key
    LIMIT $4
), judged AS (
    SELECT
        s.*,
        lead(s.idempotency_key) OVER (ORDER BY s.created_at, s.idempotency_key) IS NULL AS is_last,
        s.state = ANY ($5::text[])
            AND COALESCE(s.finished_at, '-infinity') <= $6
            AND ($7 = '' OR s.destination = $7)
            AND ($8 = '' OR s.route = $8)
            AND ($9 = '' OR s.source = $9) AS selected
    FROM slice AS s
)
SELECT
    selected, created_at, idempotency_key, destination, route, source, event_id, event_type, state, attempt,
    maybe_applied_since, request_rendering = 'failed' AS unrendered, COALESCE(response_status, 0), error
FROM judged
WHERE selected
    OR is_last
ORDER BY created_at, idempotency_key
