-- Takes the rows back. Locks the ledger exclusively while it copies attempts,
-- transitions and links of the days that have partitions.
DROP TRIGGER effect_events_taken ON hooklatch.effect_events;
DROP TRIGGER effect_attempts_taken ON hooklatch.effect_attempts;
DROP FUNCTION hooklatch.take_link();
DROP FUNCTION hooklatch.take_attempt();
DROP TRIGGER effects_record ON hooklatch.effects;
DROP TRIGGER effects_number ON hooklatch.effects;
DROP FUNCTION hooklatch.number_effect();

CREATE TEMPORARY TABLE steps ON COMMIT DROP AS
SELECT scope, key, generation, id, from_state, to_state, attempt, at, reason, job_id
FROM hooklatch.effect_transitions;
DROP VIEW hooklatch.effect_transitions;
ALTER TABLE hooklatch.former_transitions RENAME TO effect_transitions;
COMMENT ON TABLE hooklatch.effect_transitions IS 'Every transition after the effect''s creation, written by a trigger on effects.';
TRUNCATE hooklatch.effect_transitions;
INSERT INTO hooklatch.effect_transitions (scope, key, generation, from_state, to_state, attempt, at, reason, job_id)
SELECT scope, key, generation, from_state, to_state, attempt, at, reason, job_id
FROM steps
ORDER BY at, scope, key, generation, id;

INSERT INTO hooklatch.effect_attempts (
    scope, key, generation, attempt, started_at, finished_at, lost, state, applied,
    response_status, response_excerpt, error, job_id, claim_id, key_rotation
)
SELECT
    scope, key, generation, attempt, started_at, finished_at, lost, state, applied,
    response_status, response_excerpt, error, job_id, claim_id, key_rotation
FROM hooklatch.all_attempts
ON CONFLICT (scope, key, generation, attempt) DO NOTHING;
DROP VIEW hooklatch.all_attempts;
COMMENT ON TABLE hooklatch.effect_attempts IS NULL;

INSERT INTO hooklatch.effect_events (source, event_id, scope, key, generation, suppressed, linked_at)
SELECT source, event_id, scope, key, generation, suppressed, linked_at
FROM hooklatch.all_links
ON CONFLICT (source, event_id, scope, key, generation) DO NOTHING;
DROP VIEW hooklatch.all_links;
COMMENT ON TABLE hooklatch.effect_events IS NULL;

DROP TABLE hooklatch.links;
DROP TABLE hooklatch.transitions;
DROP TABLE hooklatch.attempts;
ALTER TABLE hooklatch.effects
    DROP COLUMN settled_attempt,
    DROP COLUMN claimed_at,
    DROP COLUMN effect_id;

-- Once for each statement, so that a batch of 64 costs little more than one. The
-- plan is kept from a first call that may have had one row: a nested loop would
-- be quadratic for the next.
CREATE OR REPLACE FUNCTION hooklatch.record_effect_transitions() RETURNS trigger
LANGUAGE plpgsql
SET enable_nestloop = off
AS $$
BEGIN
    WITH moved AS MATERIALIZED (
        SELECT
            n.scope, n.key, n.generation, n.state, n.attempt, n.error, n.job_id, n.maybe_applied_since,
            o.state AS old_state, o.attempt AS old_attempt, o.last_attempt_at AS old_attempt_at,
            o.job_id AS old_job_id, o.claim_id AS old_claim_id, o.key_rotations AS old_rotations
        FROM before AS o
        JOIN after AS n USING (scope, key, generation)
        WHERE n.state <> o.state
            OR n.attempt <> o.attempt
    ), ended AS (
        -- Claim and settle record the attempt that ends themselves, with what
        -- they know of it. This is for every other way to leave 'started'.
        INSERT INTO hooklatch.effect_attempts (
            scope, key, generation, attempt, started_at, finished_at, lost, state, applied, error, job_id, claim_id, key_rotation
        )
        SELECT
            scope, key, generation, old_attempt, old_attempt_at, now(), true, state,
            CASE WHEN state = 'done' THEN 'yes' WHEN maybe_applied_since IS NULL THEN 'no' ELSE 'unknown' END,
            error, old_job_id, old_claim_id, old_rotations
        FROM moved
        WHERE old_state = 'started'
        ON CONFLICT (scope, key, generation, attempt) DO NOTHING
    )
    INSERT INTO hooklatch.effect_transitions (scope, key, generation, from_state, to_state, attempt, reason, job_id)
    SELECT
        scope, key, generation, old_state, state, attempt,
        CASE WHEN state IN ('started', 'done') THEN '' ELSE left(error, 300) END,
        job_id
    FROM moved;
    RETURN NULL;
END
$$;

CREATE TRIGGER effects_record
AFTER UPDATE ON hooklatch.effects
REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT
EXECUTE FUNCTION hooklatch.record_effect_transitions();

-- Makes the partitions of today and of the given number of days after it, and
-- returns how many were missing. Attaching a finished table needs only a SHARE
-- UPDATE EXCLUSIVE lock, so deliveries go on being stored meanwhile.
CREATE OR REPLACE FUNCTION hooklatch.make_delivery_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date;
    day       date;
    part      text;
    made      integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hooklatch.make_delivery_partitions', 0));
    FOR offset_days IN 0..days_ahead LOOP
        day := first_day + offset_days;
        part := 'deliveries_' || to_char(day, 'YYYYMMDD');
        IF to_regclass('hooklatch.' || part) IS NULL THEN
            EXECUTE format('CREATE TABLE hooklatch.%I (LIKE hooklatch.deliveries INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)', part);
            EXECUTE format('ALTER TABLE hooklatch.deliveries ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
                part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;

-- How many whole days after today have a partition without a gap. /readyz
-- fails below 2.
CREATE OR REPLACE FUNCTION hooklatch.delivery_days_ahead() RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    day   date := (now() AT TIME ZONE 'UTC')::date;
    ahead integer := -1;
BEGIN
    WHILE to_regclass('hooklatch.deliveries_' || to_char(day, 'YYYYMMDD')) IS NOT NULL LOOP
        ahead := ahead + 1;
        day := day + 1;
    END LOOP;
    RETURN ahead;
END
$$;
