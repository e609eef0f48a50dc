-- The fence of T2: sets, in key order, the outcome of the events that are not dispatched yet. An
-- event without a returned row was dispatched before, or replayed after its plan was made. If the
-- plan names a job that has no work left, the job is deleted too.
--
-- The plan of an older configuration does not pass while a process with a newer configuration runs.
-- Its event is returned as left, unlocked and unchanged. A process announces itself before it
-- accepts anything. This snapshot therefore contains the announcement of every process that
-- accepted one of these events.
WITH newer AS MATERIALIZED (
    SELECT n.*
    FROM {{newer_configurations}} AS n
), judged AS MATERIALIZED (
    SELECT planned.*, planned.configuration > 0 AND {{left_to_newer}} AS is_left
    FROM :planned AS planned (
        source text, event_id text, generation integer, outcome text, config_hash text, job_id bigint, configuration bigint, routes text, for_handlers boolean
    )
), planned AS (
    SELECT f.*
    FROM judged AS f
    WHERE NOT f.is_left
    ORDER BY f.source COLLATE "C", f.event_id COLLATE "C"
), locked AS (
    -- One look-up per event. It returns the row as read under the lock, which may be newer than the
    -- snapshot.
    SELECT planned.*, stands.generation AS now_generation, stands.outcome AS now_outcome
    FROM planned
    CROSS JOIN LATERAL (
        SELECT p.generation, p.outcome
        FROM hooklatch.processed_events AS p
        WHERE p.source = planned.source
            AND p.event_id = planned.event_id
        FOR UPDATE
    ) AS stands
), fenced AS (
    UPDATE hooklatch.processed_events AS p
    SET
        outcome = locked.outcome,
        processed_at = now(),
        config_hash = locked.config_hash,
        error = ''
    FROM locked
    WHERE {{same_event}}
        AND locked.now_generation = locked.generation
        AND locked.now_outcome = 'received'
    RETURNING p.source, p.event_id, locked.job_id
), running_jobs AS (
    -- A job locked by another transaction is left unchanged: River completes it, or its next run
    -- finds the event dispatched.
    SELECT j.id, j.state = 'running' AS runs
    FROM fenced
    CROSS JOIN LATERAL (
        SELECT j.id, j.state
        FROM hooklatch.river_job AS j
        WHERE j.id = fenced.job_id
        FOR UPDATE SKIP LOCKED
    ) AS j
    WHERE fenced.job_id > 0
), ended_jobs AS (
    DELETE FROM hooklatch.river_job AS j
    USING running_jobs AS r
    WHERE j.id = ANY (ARRAY[r.id])
        AND r.runs
)
SELECT source, event_id, false AS is_left
FROM fenced
UNION ALL
SELECT source, event_id, true AS is_left
FROM judged
WHERE is_left
