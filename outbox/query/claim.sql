-- T3, first half: gives each effect that may be attempted to the job that asks,
-- in key order. One whose attempt outlived its lease is in doubt: it is tried
-- again under at_least_once and parked under at_most_once.
WITH asked AS (
    SELECT a.*
    FROM unnest(
        $1::text[], $2::text[], $3::integer[], $4::uuid[], $5::float8[], $6::bigint[],
        $7::text[], $8::text[], $9::jsonb[]
    ) AS a (scope, key, generation, asked_by, lease_seconds, asked_job, first_method, first_url, first_headers)
), locked AS (
    SELECT
        e.scope, e.key, e.generation, e.state, e.policy, e.attempt, e.claim_id, e.lease_until, e.last_attempt_at, e.job_id,
        -- The row as it is under the lock, which may be newer than the snapshot.
        e AS effect,
        e.state = 'started' AND e.claim_id = asked.asked_by AS repeated,
        e.state = 'started' AND e.claim_id <> asked.asked_by AND e.lease_until < now() AS lost,
        e.state IN ('pending', 'in_doubt') AND e.next_attempt_at <= now() AS due
    FROM hooklatch.effects AS e
    JOIN asked USING (scope, key, generation)
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE OF e
), granted AS (
    UPDATE hooklatch.effects AS e
    SET
        state = 'started',
        attempt = CASE WHEN locked.repeated THEN e.attempt ELSE e.attempt + 1 END,
        claim_id = asked.asked_by,
        lease_until = now() + make_interval(secs => asked.lease_seconds),
        first_attempt_at = COALESCE(e.first_attempt_at, now()),
        last_attempt_at = CASE WHEN locked.repeated THEN e.last_attempt_at ELSE now() END,
        maybe_applied_since = CASE WHEN locked.lost THEN COALESCE(e.maybe_applied_since, e.last_attempt_at) ELSE e.maybe_applied_since END,
        job_id = asked.asked_job,
        request_method = CASE WHEN e.attempt = 0 AND e.request_method = '' THEN asked.first_method ELSE e.request_method END,
        request_url = CASE WHEN e.attempt = 0 AND e.request_url = '' THEN asked.first_url ELSE e.request_url END,
        request_headers = CASE WHEN e.attempt = 0 THEN asked.first_headers || e.request_headers ELSE e.request_headers END
    FROM locked
    JOIN asked USING (scope, key, generation)
    WHERE e.scope = locked.scope
        AND e.key = locked.key
        AND e.generation = locked.generation
        AND (locked.repeated OR locked.due OR (locked.lost AND e.policy = 'at_least_once'))
    RETURNING e.*
), parked AS (
    UPDATE hooklatch.effects AS e
    SET
        state = 'parked',
        finished_at = now(),
        claim_id = NULL,
        lease_until = NULL,
        maybe_applied_since = COALESCE(e.maybe_applied_since, e.last_attempt_at),
        error = 'the worker was lost during attempt ' || e.attempt || ': it may have been applied'
    FROM locked
    WHERE e.scope = locked.scope
        AND e.key = locked.key
        AND e.generation = locked.generation
        AND locked.lost
        AND e.policy = 'at_most_once'
    RETURNING e.*
), recorded AS (
    INSERT INTO hooklatch.effect_attempts (
        scope, key, generation, attempt, started_at, finished_at, lost, state, applied, error, job_id
    )
    SELECT
        scope, key, generation, attempt, last_attempt_at, now(), true,
        CASE WHEN policy = 'at_most_once' THEN 'parked' ELSE 'in_doubt' END, 'unknown',
        'the worker was lost, or did not settle before its lease ended', job_id
    FROM locked
    WHERE lost
    ON CONFLICT (scope, key, generation, attempt) DO NOTHING
), changed AS (
    SELECT * FROM granted
    UNION ALL
    SELECT * FROM parked
), answered AS (
    SELECT * FROM changed
    UNION ALL
    SELECT (locked.effect).*
    FROM locked
    WHERE NOT EXISTS (
        SELECT
        FROM changed
        WHERE changed.scope = locked.scope
            AND changed.key = locked.key
            AND changed.generation = locked.generation
    )
)
SELECT
    a.scope, a.key, a.generation, a.idempotency_key, a.route, a.destination, a.queue, a.policy,
    a.source, a.event_id, a.event_type, a.accept_seq, a.traceparent,
    a.request_method, a.request_url, a.request_headers, a.request_type, a.request_body, a.request_body IS NULL AS from_delivery,
    a.state, a.attempt, a.lease_until, a.next_attempt_at, a.created_at, a.first_attempt_at, a.last_attempt_at,
    a.maybe_applied_since, a.finished_at, a.response_status, a.response_excerpt, a.error, a.job_id,
    a.claim_id,
    EXISTS (
        SELECT
        FROM parked
        WHERE parked.scope = a.scope
            AND parked.key = a.key
            AND parked.generation = a.generation
    ) AS parked_now
FROM answered AS a
