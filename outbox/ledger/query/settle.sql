-- T3, second half: records the outcome of attempts in key order. An attempt that lost its lease to
-- another attempt changes nothing. If no job ran the attempt, the fallback job ends here or waits
-- for the next attempt. A job that has no work left once its effect is done also ends here. An
-- ended job is deleted, completed if jobs are kept, or cancelled if its effect is not done.
WITH ended AS (
    SELECT s.*
    FROM :ended AS s (
        scope text, key text, generation integer, attempt integer, claim_id uuid, new_state text, applied text, duration_seconds float8,
        retry_seconds float8, response_status integer, response_excerpt text, error text, rotate_key boolean, unauthorized boolean, uncounted boolean,
        job_waits boolean, job_ends boolean, job_stays boolean, job_metadata jsonb, job_tags text
    )
    ORDER BY s.scope COLLATE "C", s.key COLLATE "C", s.generation
), locked AS (
    -- Each effect is a separate look-up. Its row is read under the lock and may be newer than the
    -- snapshot.
    SELECT ended.*, stands.state AS now_state, stands.attempt AS now_attempt, stands.claim_id AS now_claim_id
    FROM ended
    CROSS JOIN LATERAL (
        SELECT e.state, e.attempt, e.claim_id
        FROM hooklatch.effects AS e
        WHERE e.scope = ended.scope
            AND e.key = ended.key
            AND e.generation = ended.generation
        FOR UPDATE
    ) AS stands
), settled AS (
    UPDATE hooklatch.effects AS e
    SET
        state = ended.new_state,
        settled_attempt = e.attempt,
        claim_id = NULL,
        lease_until = NULL,
        next_attempt_at = now() + make_interval(secs => ended.retry_seconds),
        maybe_applied_since = CASE WHEN ended.applied = 'unknown' THEN COALESCE(e.maybe_applied_since, {{began}}) ELSE e.maybe_applied_since END,
        refused_since = CASE WHEN ended.unauthorized THEN COALESCE(e.refused_since, {{began}}) END,
        finished_at = CASE WHEN ended.new_state IN ('done', 'failed', 'parked', 'cancelled') THEN now() END,
        uncounted_attempts = e.uncounted_attempts + CASE WHEN ended.uncounted THEN 1 ELSE 0 END,
        response_status = ended.response_status,
        response_excerpt = ended.response_excerpt,
        error = ended.error,
        key_rotations = e.key_rotations + CASE WHEN ended.rotate_key AND ended.new_state IN ('pending', 'in_doubt', 'parked') THEN 1 ELSE 0 END
    FROM locked AS ended
    WHERE {{same_effect locked=ended}}
        -- Either attempt or claim_id would suffice, since both are unique to each claim.
        AND ended.now_attempt = ended.attempt
        AND ended.now_claim_id = ended.claim_id
        AND ended.now_state = 'started'
    RETURNING
        e.scope, e.key, e.generation, e.effect_id, e.attempt, e.state, e.next_attempt_at, {{began}} AS last_attempt_at, LEAST(e.claimed_at, clock_timestamp()) AS claimed_at, e.job_id, ended.claim_id,
        e.destination, ended.job_waits, ended.job_ends, ended.job_stays, ended.job_metadata, ended.job_tags,
        e.latest_key, e.occurred_at, e.accept_seq, e.idempotency_key,
        ended.applied, ended.duration_seconds, ended.response_status, ended.response_excerpt, ended.error,
        -- The key that the attempt sent, not the next key.
        e.key_rotations - CASE WHEN ended.rotate_key AND ended.new_state IN ('pending', 'in_doubt', 'parked') THEN 1 ELSE 0 END AS key_rotation
), recorded AS (
    INSERT INTO hooklatch.attempts (
        effect_id, attempt, started_at, claimed_at, finished_at, state, applied,
        response_status, response_excerpt, error, job_id, claim_id, key_rotation
    )
    SELECT
        effect_id, attempt, last_attempt_at, GREATEST(claimed_at, last_attempt_at), last_attempt_at + make_interval(secs => duration_seconds),
        state, applied, response_status, response_excerpt, error, job_id, claim_id, key_rotation
    FROM settled
    ON CONFLICT (effect_id, attempt, started_at) DO NOTHING
), newest AS (
    INSERT INTO hooklatch.object_versions AS known (scope, latest_key, occurred_at, accept_seq, idempotency_key)
    SELECT DISTINCT ON (scope COLLATE "C", latest_key COLLATE "C") scope, latest_key, occurred_at, accept_seq, idempotency_key
    FROM settled
    WHERE state = 'done'
        AND latest_key <> ''
    ORDER BY scope COLLATE "C", latest_key COLLATE "C", occurred_at DESC, accept_seq DESC
    ON CONFLICT (scope, latest_key) DO UPDATE
    SET
        occurred_at = EXCLUDED.occurred_at,
        accept_seq = EXCLUDED.accept_seq,
        idempotency_key = EXCLUDED.idempotency_key,
        applied_at = now()
    WHERE (known.occurred_at, known.accept_seq) < (EXCLUDED.occurred_at, EXCLUDED.accept_seq)
), waiting_jobs AS (
    -- A job that another transaction has locked is left unchanged: its run finds the effect's
    -- state. The job's state is checked separately. Together with the id, it would let Postgres
    -- choose an index with many rows.
    SELECT
        j.id, settled.job_waits AND j.state = 'scheduled' AS waits, settled.job_ends AND j.state = 'running' AS runs, settled.state = 'done' AS is_done, settled.state IN ('pending', 'in_doubt') AS goes_on,
        settled.job_stays, settled.job_metadata, settled.job_tags,
        settled.applied, settled.duration_seconds, settled.response_status,
        settled.next_attempt_at, settled.last_attempt_at, settled.destination || ': ' || settled.error AS error
    FROM settled
    CROSS JOIN LATERAL (
        SELECT j.id, j.state
        FROM hooklatch.river_job AS j
        WHERE j.id = settled.job_id
        FOR UPDATE SKIP LOCKED
    ) AS j
    WHERE settled.job_waits
        OR settled.job_ends
), ended_jobs AS (
    DELETE FROM hooklatch.river_job AS j
    USING waiting_jobs AS w
    WHERE j.id = ANY (ARRAY[w.id])
        AND (w.runs OR (w.waits AND w.is_done AND NOT w.job_stays))
), kept_jobs AS (
    -- River UI shows the effect as if its fallback job had run. The update applies to effects that
    -- are not done, and to done effects if jobs are kept.
    UPDATE hooklatch.river_job AS j
    SET
        state = CASE
            WHEN w.is_done THEN 'completed'
            WHEN NOT w.goes_on THEN 'cancelled'
            -- River's scheduler, which wakes the other jobs, runs every 5 seconds.
            WHEN w.next_attempt_at < now() + interval '5 seconds' THEN 'available'
            ELSE 'retryable'
        END::hooklatch.river_job_state,
        attempt = j.attempt + 1,
        attempted_at = w.last_attempt_at,
        -- A fallback job has neither metadata nor tags.
        metadata = j.metadata || w.job_metadata || CASE
            WHEN w.is_done THEN jsonb_build_object('output', jsonb_strip_nulls(jsonb_build_object(
                'outcome', 'done', 'http_status', w.response_status, 'duration_ms', round(1000 * w.duration_seconds), 'applied', w.applied
            )))
            ELSE '{}'
        END,
        tags = string_to_array(w.job_tags, ',')::varchar(255)[],
        scheduled_at = CASE WHEN w.goes_on THEN w.next_attempt_at ELSE j.scheduled_at END,
        finalized_at = CASE WHEN NOT w.goes_on THEN now() END,
        errors = CASE
            WHEN w.is_done THEN j.errors
            ELSE array_append(j.errors, jsonb_build_object('at', now(), 'attempt', j.attempt + 1, 'error', w.error, 'trace', ''))
        END
    FROM waiting_jobs AS w
    WHERE j.id = ANY (ARRAY[w.id])
        AND w.waits
        AND (NOT w.is_done OR w.job_stays)
)
SELECT scope, key, generation, attempt, state, next_attempt_at, false AS late
FROM settled
