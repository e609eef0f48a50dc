-- Locks: SHARE ROW EXCLUSIVE on effects, for the moment it takes to change a trigger's row
-- in the catalogue.
CREATE OR REPLACE FUNCTION hooklatch.record_effect_transitions() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'started' THEN
        IF EXISTS (
            SELECT
            FROM hooklatch.attempts
            WHERE effect_id = NEW.effect_id
                AND attempt = OLD.attempt
                AND started_at = OLD.last_attempt_at
                AND NOT lost
        ) THEN
            RETURN NULL;
        END IF;
        -- Every other way to leave 'started': its lease ended and another attempt
        -- takes over, or the effect was put aside.
        INSERT INTO hooklatch.attempts (
            effect_id, attempt, started_at, claimed_at, finished_at, lost, state, applied, error, job_id, claim_id, key_rotation
        )
        VALUES (
            NEW.effect_id, OLD.attempt, OLD.last_attempt_at, GREATEST(OLD.claimed_at, OLD.last_attempt_at), now(), true,
            CASE WHEN NEW.state <> 'started' THEN NEW.state WHEN OLD.request_rendering = 'late' THEN 'pending' ELSE 'in_doubt' END,
            -- An attempt whose request was never fixed has called nobody.
            CASE
                WHEN NEW.state = 'done' THEN 'yes'
                WHEN NEW.maybe_applied_since IS NULL OR OLD.request_rendering = 'late' THEN 'no'
                ELSE 'unknown'
            END,
            CASE WHEN NEW.state <> 'started' THEN NEW.error ELSE 'the worker was lost, or did not settle before its lease ended' END,
            OLD.job_id, OLD.claim_id, OLD.key_rotations
        )
        ON CONFLICT (effect_id, attempt, started_at) DO NOTHING;
    END IF;
    INSERT INTO hooklatch.transitions (effect_id, from_state, to_state, attempt, reason, job_id)
    VALUES (
        NEW.effect_id, OLD.state, NEW.state, NEW.attempt,
        CASE WHEN NEW.state IN ('started', 'done') THEN '' ELSE left(NEW.error, 300) END, NEW.job_id
    );
    RETURN NULL;
END
$$;

CREATE OR REPLACE VIEW hooklatch.all_attempts AS
SELECT
    e.scope, e.key, e.generation, a.attempt, a.started_at, a.finished_at, a.lost, a.state, a.applied,
    a.response_status, a.response_excerpt, a.error, a.job_id, a.claim_id, a.key_rotation
FROM hooklatch.effects AS e
JOIN hooklatch.attempts AS a
    ON a.effect_id = e.effect_id
    AND a.started_at BETWEEN e.created_at - interval '1 day' AND now() + interval '1 day'
UNION ALL
SELECT
    scope, key, generation, attempt, started_at, finished_at, lost, state, applied,
    response_status, response_excerpt, error, job_id, claim_id, key_rotation
FROM hooklatch.effect_attempts;

-- The condition is the machine. It costs no function call when it holds.
CREATE OR REPLACE TRIGGER effects_legal
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
