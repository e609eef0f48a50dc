-- T3, second half: records the outcome of attempts in key order. An attempt
-- that lost its lease to another changes nothing.
WITH ended AS (
    SELECT s.*
    FROM unnest(
        $1::text[], $2::text[], $3::integer[], $4::integer[], $5::uuid[], $6::text[], $7::text[], $8::float8[],
        $9::float8[], $10::integer[], $11::text[], $12::text[]
    ) AS s (
        scope, key, generation, attempt, claim_id, new_state, applied, duration_seconds,
        retry_seconds, response_status, response_excerpt, error
    )
), locked AS (
    SELECT e.scope, e.key, e.generation
    FROM hooklatch.effects AS e
    JOIN ended USING (scope, key, generation, attempt, claim_id)
    WHERE e.state = 'started'
    ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
    FOR UPDATE OF e
), settled AS (
    UPDATE hooklatch.effects AS e
    SET
        state = ended.new_state,
        claim_id = NULL,
        lease_until = NULL,
        next_attempt_at = now() + make_interval(secs => ended.retry_seconds),
        maybe_applied_since = CASE WHEN ended.applied = 'unknown' THEN COALESCE(e.maybe_applied_since, e.last_attempt_at) ELSE e.maybe_applied_since END,
        finished_at = CASE WHEN ended.new_state IN ('done', 'failed', 'parked', 'cancelled') THEN now() END,
        response_status = ended.response_status,
        response_excerpt = ended.response_excerpt,
        error = ended.error
    FROM ended
    JOIN locked USING (scope, key, generation)
    WHERE e.scope = ended.scope
        AND e.key = ended.key
        AND e.generation = ended.generation
        AND e.attempt = ended.attempt
        AND e.claim_id = ended.claim_id
        AND e.state = 'started'
    RETURNING e.scope, e.key, e.generation, e.attempt, e.state, e.next_attempt_at, e.last_attempt_at, e.job_id
), recorded AS (
    INSERT INTO hooklatch.effect_attempts (
        scope, key, generation, attempt, started_at, finished_at, state, applied,
        response_status, response_excerpt, error, job_id
    )
    SELECT
        settled.scope, settled.key, settled.generation, settled.attempt,
        settled.last_attempt_at, settled.last_attempt_at + make_interval(secs => ended.duration_seconds),
        settled.state, ended.applied, ended.response_status, ended.response_excerpt, ended.error, settled.job_id
    FROM settled
    JOIN ended USING (scope, key, generation, attempt)
    ON CONFLICT (scope, key, generation, attempt) DO NOTHING
)
SELECT scope, key, generation, attempt, state, next_attempt_at
FROM settled
