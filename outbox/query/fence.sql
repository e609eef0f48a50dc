-- The fence of T2: marks the events that are still to be dispatched, in key
-- order. An event without a row back was dispatched before, or replayed since. The job
-- that a run of it is about to end by this goes with it, where one is named.
--
-- The plan of an older configuration does not pass while a process with a newer one runs:
-- its event comes back as left, unlocked and unchanged. A process announces itself before
-- it accepts anything, so this snapshot has the announcement of each process whose events
-- it has.
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
    -- Each by a look-up of its own, and the row as it is under the lock, which may
    -- be newer than the snapshot.
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
    -- One that somebody else has in hand is left: River ends it, or its next run finds
    -- the event dispatched.
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
