-- The state machine of an effect, kept by the database: no statement of
-- anybody's, a person's in psql included, makes an illegal transition or leaves
-- a legal one unrecorded.

CREATE TABLE hooklatch.effect_transitions (
    scope      text        NOT NULL,
    key        text        NOT NULL,
    generation integer     NOT NULL,
    id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    from_state text        NOT NULL,
    to_state   text        NOT NULL,
    attempt    integer     NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason     text        NOT NULL DEFAULT '',
    job_id     bigint,
    PRIMARY KEY (scope, key, generation, id)
);

COMMENT ON TABLE hooklatch.effect_transitions IS 'Every transition after the effect''s creation, written by a trigger on effects.';

CREATE FUNCTION hooklatch.refuse_effect_transition() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'effect %/% generation %: no transition from % (attempt %) to % (attempt %)',
        NEW.scope, NEW.key, NEW.generation,
        CASE WHEN TG_OP = 'INSERT' THEN 'nothing' ELSE OLD.state END,
        CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE OLD.attempt END,
        NEW.state, NEW.attempt
        USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_transition';
END
$$;

-- An effect begins pending, or parked when its request could not be rendered.
CREATE TRIGGER effects_begin
BEFORE INSERT ON hooklatch.effects
FOR EACH ROW
WHEN (NOT (NEW.state IN ('pending', 'parked') AND NEW.attempt = 0 AND NEW.claim_id IS NULL AND NEW.maybe_applied_since IS NULL))
EXECUTE FUNCTION hooklatch.refuse_effect_transition();

-- The condition is the machine. It costs no function call when it holds.
CREATE TRIGGER effects_legal
BEFORE UPDATE ON hooklatch.effects
FOR EACH ROW
WHEN (NOT (
    NEW.scope = OLD.scope
    AND NEW.key = OLD.key
    AND NEW.generation = OLD.generation
    AND NEW.idempotency_key = OLD.idempotency_key
    AND NEW.key_rotations BETWEEN OLD.key_rotations AND OLD.key_rotations + 1
    -- Doubt is sticky.
    AND (OLD.maybe_applied_since IS NULL OR NEW.maybe_applied_since IS NOT DISTINCT FROM OLD.maybe_applied_since)
    AND CASE
        WHEN NEW.state = 'started' AND OLD.state = 'started' THEN
            (NEW.attempt = OLD.attempt AND NEW.claim_id = OLD.claim_id)
            OR (NEW.attempt = OLD.attempt + 1 AND NEW.claim_id <> OLD.claim_id AND OLD.lease_until < now())
        WHEN NEW.state = 'started' THEN
            OLD.state IN ('pending', 'in_doubt') AND NEW.attempt = OLD.attempt + 1
        WHEN NEW.attempt <> OLD.attempt THEN false
        WHEN NEW.state = OLD.state THEN true
        WHEN OLD.state = 'started' THEN NEW.claim_id IS NULL
        WHEN OLD.state IN ('pending', 'in_doubt') THEN NEW.state IN ('parked', 'cancelled')
        WHEN OLD.state IN ('failed', 'parked') THEN NEW.state IN ('pending', 'in_doubt', 'cancelled')
        WHEN OLD.state = 'cancelled' THEN NEW.state IN ('pending', 'in_doubt')
        ELSE false
    END
))
EXECUTE FUNCTION hooklatch.refuse_effect_transition();

-- Once for each statement, so that a batch of 64 costs little more than one. The
-- plan is kept from a first call that may have had one row: a nested loop would
-- be quadratic for the next.
CREATE FUNCTION hooklatch.record_effect_transitions() RETURNS trigger
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
