-- Effects that are due for minutes without a live job.
WITH live AS (
    SELECT j.args ->> 'scope' AS scope, j.args ->> 'key' AS key, (j.args ->> 'generation')::integer AS generation
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
SELECT count(*) OVER () AS total, e.idempotency_key || ' to ' || e.destination || ', ' || e.state || ', due ' || e.next_attempt_at AS violation
FROM hooklatch.effects AS e
WHERE e.state IN ('pending', 'started', 'in_doubt')
    AND e.next_attempt_at < now() - interval '5 minutes'
    -- Of an order only the first has a job, and one that is at work.
    AND (e.order_key = '' OR e.state = 'started' OR NOT EXISTS (
        SELECT
        FROM hooklatch.effects AS earlier
        WHERE earlier.scope = e.scope
            AND earlier.order_key = e.order_key
            AND earlier.order_key <> ''
            AND earlier.state IN ('pending', 'started', 'in_doubt', 'parked')
            AND (earlier.state <> 'parked' OR earlier.on_park = 'block')
            AND (earlier.accept_seq, earlier.key COLLATE "C", earlier.generation) < (e.accept_seq, e.key COLLATE "C", e.generation)
    ))
    AND NOT EXISTS (
        SELECT
        FROM live
        WHERE live.scope = e.scope
            AND live.key = e.key
            AND live.generation = e.generation
    )
ORDER BY e.next_attempt_at
LIMIT :limit
