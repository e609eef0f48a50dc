-- The last attempts of a destination's effects, newest first. They are taken from the :newest
-- effects of all destinations, and from three groups of the destination's own effects: unfinished
-- without an order, failed, and parked. Each group has at most :aside effects. The last column is
-- true if no limit left out an effect created in the window.
WITH newest AS MATERIALIZED (
    SELECT
        e.idempotency_key, e.state, e.last_attempt_at, e.response_status, left(e.error, :said) AS said,
        e.destination, e.created_at
    FROM hooklatch.effects AS e
    ORDER BY e.created_at DESC
    LIMIT :newest
), waiting AS MATERIALIZED (
    SELECT e.idempotency_key, e.state, e.last_attempt_at, e.response_status, left(e.error, :said) AS said
    FROM hooklatch.effects AS e
    WHERE e.destination = ANY (ARRAY[:destination::text])
        AND e.order_key = ''
        AND e.state IN ('pending', 'started', 'in_doubt')
    ORDER BY e.destination DESC, e.next_attempt_at DESC
    LIMIT :aside
), failed AS MATERIALIZED (
    SELECT e.idempotency_key, e.state, e.last_attempt_at, e.response_status, left(e.error, :said) AS said
    FROM hooklatch.effects AS e
    WHERE e.destination = ANY (ARRAY[:destination::text])
        AND e.state = 'failed'
        AND e.state IN ('failed', 'parked')
    ORDER BY e.destination DESC, e.state DESC, e.finished_at DESC
    LIMIT :aside
), parked AS MATERIALIZED (
    SELECT e.idempotency_key, e.state, e.last_attempt_at, e.response_status, left(e.error, :said) AS said
    FROM hooklatch.effects AS e
    WHERE e.destination = ANY (ARRAY[:destination::text])
        AND e.state = 'parked'
        AND e.state IN ('failed', 'parked')
    ORDER BY e.destination DESC, e.state DESC, e.finished_at DESC
    LIMIT :aside
), whole AS MATERIALIZED (
    SELECT
        (SELECT count(*) FROM waiting) < :aside
        AND (SELECT count(*) FROM failed) < :aside
        AND (SELECT count(*) FROM parked) < :aside
        AND (
            (SELECT count(*) FROM newest) < :newest
            OR (SELECT min(n.created_at) FROM newest AS n) < now() - make_interval(secs => :window_seconds::float8)
        ) AS whole
)
SELECT
    COALESCE(found.idempotency_key, ''), COALESCE(found.state, ''), COALESCE(found.last_attempt_at, 'epoch'), found.response_status,
    COALESCE(found.said, ''), COALESCE(found.last_attempt_at > now() - make_interval(secs => :window_seconds::float8), false), whole.whole
FROM whole
LEFT JOIN (
    SELECT n.idempotency_key, n.state, n.last_attempt_at, n.response_status, n.said
    FROM newest AS n
    WHERE n.destination = :destination
    UNION
    TABLE waiting
    UNION
    TABLE failed
    UNION
    TABLE parked
) AS found ON found.last_attempt_at IS NOT NULL
ORDER BY found.last_attempt_at DESC, found.idempotency_key
