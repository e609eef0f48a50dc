-- What is written of an effect beside its own row, for years: attempts,
-- transitions and links are keyed by ordered numbers, not by the text of a key that
-- is random, and stand in a partition for each day. In the index of a large table
-- every random key costs the image of a page after each checkpoint.
--
-- Rows of before stay where they are: in effect_attempts, effect_events and
-- former_transitions. The views show both. An older program that still runs writes
-- into the old tables, and its rows are taken to the new ones.
--
-- The partitions are made in the same transaction, after the last migration.
--
-- Locks: effects, effect_attempts, effect_events and effect_transitions
-- exclusively, for the moment it takes to change the catalogue. No row is read or
-- written: an effect of before has its number when it is next changed.
CREATE SEQUENCE hooklatch.effect_id AS bigint;

ALTER TABLE hooklatch.effects
    ADD COLUMN effect_id bigint,
    ADD COLUMN claimed_at timestamptz,
    ADD COLUMN settled_attempt integer;
ALTER TABLE hooklatch.effects ALTER COLUMN effect_id SET DEFAULT nextval('hooklatch.effect_id');
ALTER SEQUENCE hooklatch.effect_id OWNED BY hooklatch.effects.effect_id;

COMMENT ON COLUMN hooklatch.effects.effect_id IS 'Names the effect where its key would be long and random. NULL in rows of before that were not changed since.';
COMMENT ON COLUMN hooklatch.effects.settled_attempt IS 'The latest attempt whose end a settlement recorded, in the transaction that ended it.';
COMMENT ON COLUMN hooklatch.effects.claimed_at IS 'When the latest claim was written, which may have waited for the row after last_attempt_at.';

CREATE FUNCTION hooklatch.number_effect() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.effect_id IS NOT NULL THEN
        RAISE EXCEPTION 'effect %/% generation %: its number does not change', NEW.scope, NEW.key, NEW.generation
            USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_transition';
    END IF;
    NEW.effect_id := nextval('hooklatch.effect_id');
    RETURN NEW;
END
$$;

CREATE TRIGGER effects_number
BEFORE UPDATE ON hooklatch.effects
FOR EACH ROW
WHEN (NEW.effect_id IS NULL OR NEW.effect_id <> OLD.effect_id)
EXECUTE FUNCTION hooklatch.number_effect();

-- The partition follows from the attempt itself, as last_attempt_at of its effect
-- has it from claim to end: one attempt has one row. A partition must not go while
-- an attempt that began in it has not ended.
CREATE TABLE hooklatch.attempts (
    effect_id        bigint      NOT NULL,
    started_at       timestamptz NOT NULL,
    claimed_at       timestamptz NOT NULL,
    finished_at      timestamptz NOT NULL,
    settled_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    job_id           bigint,
    attempt          integer     NOT NULL,
    key_rotation     integer     NOT NULL DEFAULT 0,
    response_status  integer,
    lost             boolean     NOT NULL DEFAULT false,
    claim_id         uuid,
    state            text        NOT NULL,
    applied          text        NOT NULL,
    response_excerpt text        NOT NULL DEFAULT '',
    error            text        NOT NULL DEFAULT '',
    PRIMARY KEY (effect_id, attempt, started_at),
    CONSTRAINT known_applied CHECK (applied IN ('yes', 'no', 'unknown'))
) PARTITION BY RANGE (started_at);

COMMENT ON TABLE hooklatch.attempts IS 'One row for each attempt that ended, partitioned by the UTC day it began. all_attempts has the keys of the effects.';
COMMENT ON COLUMN hooklatch.attempts.claimed_at IS 'When its claim was written.';
COMMENT ON COLUMN hooklatch.attempts.finished_at IS 'When the call ended; settled_at is when that was written.';
COMMENT ON COLUMN hooklatch.attempts.lost IS 'Nobody settled it: a later claim found its lease at an end, or a person put the effect aside.';
COMMENT ON COLUMN hooklatch.attempts.state IS 'The state this attempt left its effect in.';
COMMENT ON COLUMN hooklatch.attempts.claim_id IS 'Of the run that made the attempt, so that a retry after a lost COMMIT answer recognises its own.';
COMMENT ON COLUMN hooklatch.attempts.key_rotation IS 'Which key the attempt carried: 0 is the effect''s own.';

-- An attempt that began before there were partitions ends after it.
DO $$
BEGIN
    EXECUTE format('CREATE TABLE hooklatch.attempts_past PARTITION OF hooklatch.attempts FOR VALUES FROM (MINVALUE) TO (%L)',
        (now() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC');
END
$$;

CREATE SEQUENCE hooklatch.transition_id AS bigint;

CREATE TABLE hooklatch.transitions (
    effect_id  bigint      NOT NULL,
    id         bigint      NOT NULL DEFAULT nextval('hooklatch.transition_id'),
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    job_id     bigint,
    attempt    integer     NOT NULL,
    from_state text        NOT NULL,
    to_state   text        NOT NULL,
    reason     text        NOT NULL DEFAULT '',
    PRIMARY KEY (effect_id, id, at)
) PARTITION BY RANGE (at);
ALTER SEQUENCE hooklatch.transition_id OWNED BY hooklatch.transitions.id;

COMMENT ON TABLE hooklatch.transitions IS 'The transitions that no attempt tells, written by a trigger and partitioned by UTC day. effect_transitions has all.';

-- No unique index: the fence lets one transaction at a time link the effects of an
-- event, and it looks what is there.
CREATE TABLE hooklatch.links (
    accept_seq bigint      NOT NULL,
    linked_at  timestamptz NOT NULL DEFAULT now(),
    generation integer     NOT NULL,
    suppressed boolean     NOT NULL,
    scope      text        NOT NULL,
    key        text        NOT NULL
) PARTITION BY RANGE (linked_at);
CREATE INDEX links_of_event ON hooklatch.links (accept_seq);

COMMENT ON TABLE hooklatch.links IS 'Which events led to which effects, partitioned by UTC day. all_links has the ids of the events.';
COMMENT ON COLUMN hooklatch.links.accept_seq IS 'Of the event.';
COMMENT ON COLUMN hooklatch.links.suppressed IS 'True when an earlier event had made the effect of this key.';

-- Makes the partitions of today and of the given number of days after it, of every
-- table that has them, and returns for how many days some were missing. Attaching a
-- finished table needs only a SHARE UPDATE EXCLUSIVE lock, so rows go on being
-- stored meanwhile.
CREATE OR REPLACE FUNCTION hooklatch.make_delivery_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date;
    day       date;
    whole     text;
    part      text;
    missing   boolean;
    made      integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hooklatch.make_delivery_partitions', 0));
    FOR offset_days IN 0..days_ahead LOOP
        day := first_day + offset_days;
        missing := false;
        FOREACH whole IN ARRAY ARRAY['deliveries', 'links', 'attempts', 'transitions'] LOOP
            part := whole || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('hooklatch.' || part) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE hooklatch.%I (LIKE hooklatch.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)',
                    part, whole);
                EXECUTE format('ALTER TABLE hooklatch.%I ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
                    whole, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
                missing := true;
            END IF;
        END LOOP;
        IF missing THEN
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;

-- How many whole days after today have all their partitions without a gap. /readyz
-- fails below 2.
CREATE OR REPLACE FUNCTION hooklatch.delivery_days_ahead() RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
    day   date := (now() AT TIME ZONE 'UTC')::date;
    ahead integer := -1;
BEGIN
    WHILE to_regclass('hooklatch.deliveries_' || to_char(day, 'YYYYMMDD')) IS NOT NULL
        AND to_regclass('hooklatch.links_' || to_char(day, 'YYYYMMDD')) IS NOT NULL
        AND to_regclass('hooklatch.attempts_' || to_char(day, 'YYYYMMDD')) IS NOT NULL
        AND to_regclass('hooklatch.transitions_' || to_char(day, 'YYYYMMDD')) IS NOT NULL
    LOOP
        ahead := ahead + 1;
        day := day + 1;
    END LOOP;
    RETURN ahead;
END
$$;

-- Two transitions need no row: the beginning of an attempt out of a state in which
-- the effect waited, and the end that a settlement recorded. The rows of the effect
-- and of the attempt say both. An older program does not say that it settles: its row
-- in attempts does.
DROP TRIGGER effects_record ON hooklatch.effects;

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

CREATE TRIGGER effects_record
AFTER UPDATE ON hooklatch.effects
FOR EACH ROW
WHEN (
    (NEW.state <> OLD.state OR NEW.attempt <> OLD.attempt)
    AND NOT (OLD.state IN ('pending', 'in_doubt') AND NEW.state = 'started')
    -- A settlement costs no function call.
    AND NOT (OLD.state = 'started' AND COALESCE(NEW.settled_attempt, 0) = OLD.attempt)
)
EXECUTE FUNCTION hooklatch.record_effect_transitions();

-- What an older program writes of an attempt and of a link.
CREATE FUNCTION hooklatch.take_attempt() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    effect record;
BEGIN
    SELECT e.effect_id, e.claimed_at INTO effect
    FROM hooklatch.effects AS e
    WHERE e.scope = NEW.scope
        AND e.key = NEW.key
        AND e.generation = NEW.generation;
    IF effect.effect_id IS NULL THEN
        RETURN NEW;
    END IF;
    INSERT INTO hooklatch.attempts (
        effect_id, attempt, started_at, claimed_at, finished_at, lost, state, applied,
        response_status, response_excerpt, error, job_id, claim_id, key_rotation
    )
    VALUES (
        effect.effect_id, NEW.attempt, NEW.started_at, GREATEST(effect.claimed_at, NEW.started_at), NEW.finished_at, NEW.lost, NEW.state, NEW.applied,
        NEW.response_status, NEW.response_excerpt, NEW.error, NEW.job_id, NEW.claim_id, NEW.key_rotation
    )
    ON CONFLICT (effect_id, attempt, started_at) DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER effect_attempts_taken
BEFORE INSERT ON hooklatch.effect_attempts
FOR EACH ROW
EXECUTE FUNCTION hooklatch.take_attempt();

CREATE FUNCTION hooklatch.take_link() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    event record;
BEGIN
    SELECT p.accept_seq, p.received_at INTO event
    FROM hooklatch.processed_events AS p
    WHERE p.source = NEW.source
        AND p.event_id = NEW.event_id;
    IF event.accept_seq IS NULL THEN
        RETURN NEW;
    END IF;
    INSERT INTO hooklatch.links (accept_seq, scope, key, generation, suppressed)
    SELECT event.accept_seq, NEW.scope, NEW.key, NEW.generation, NEW.suppressed
    WHERE NOT EXISTS (
        SELECT
        FROM hooklatch.links AS l
        WHERE l.accept_seq = event.accept_seq
            AND l.scope = NEW.scope
            AND l.key = NEW.key
            AND l.generation = NEW.generation
    ) AND NOT EXISTS (
        SELECT
        FROM hooklatch.effect_events AS l
        WHERE l.source = NEW.source
            AND l.event_id = NEW.event_id
            AND l.scope = NEW.scope
            AND l.key = NEW.key
            AND l.generation = NEW.generation
    );
    RETURN NULL;
END
$$;

CREATE TRIGGER effect_events_taken
BEFORE INSERT ON hooklatch.effect_events
FOR EACH ROW
EXECUTE FUNCTION hooklatch.take_link();

REVOKE ALL ON FUNCTION hooklatch.number_effect() FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.take_attempt() FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.take_link() FROM PUBLIC;

-- Clocks are set back, but not by days: the bounds leave out the partitions in which
-- there can be nothing.
CREATE VIEW hooklatch.all_attempts AS
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

COMMENT ON VIEW hooklatch.all_attempts IS 'Every attempt that ended, with the key of its effect.';

CREATE VIEW hooklatch.all_links AS
SELECT p.source, p.event_id, l.scope, l.key, l.generation, l.suppressed, l.linked_at
FROM hooklatch.processed_events AS p
JOIN hooklatch.links AS l ON l.accept_seq = p.accept_seq AND l.linked_at BETWEEN p.received_at - interval '1 day' AND now() + interval '1 day'
UNION ALL
SELECT source, event_id, scope, key, generation, suppressed, linked_at
FROM hooklatch.effect_events;

COMMENT ON VIEW hooklatch.all_links IS 'Which events led to which effects.';

ALTER TABLE hooklatch.effect_transitions RENAME TO former_transitions;

COMMENT ON TABLE hooklatch.former_transitions IS 'Transitions of before there was the table transitions.';
COMMENT ON TABLE hooklatch.effect_attempts IS 'Attempts of before there was the table attempts.';
COMMENT ON TABLE hooklatch.effect_events IS 'Links of before there was the table links.';

-- The steps of an effect are in the order of its attempts: what begins one, what ends
-- it, and what came after it without another. id counts them. Where a row tells of a
-- beginning, what follows from the attempt is left out.
CREATE VIEW hooklatch.effect_transitions AS
SELECT
    told.scope, told.key, told.generation,
    row_number() OVER (
        PARTITION BY told.scope, told.key, told.generation
        ORDER BY told.former DESC, told.counted, told.part, told.id
    ) AS id,
    told.from_state, told.to_state, told.attempt, told.at, told.reason, told.job_id
FROM (
    SELECT
        step.*,
        bool_or(step.id > 0 AND step.to_state = 'started') OVER (PARTITION BY step.scope, step.key, step.generation, step.attempt) AS has_beginning
    FROM (
        SELECT
            f.scope, f.key, f.generation, true AS former, 0 AS counted, 0 AS part, f.id,
            f.from_state, f.to_state, f.attempt, f.at, f.reason, f.job_id
        FROM hooklatch.former_transitions AS f
        UNION ALL
        SELECT
            e.scope, e.key, e.generation, false, t.attempt,
            CASE WHEN t.to_state = 'started' THEN 0 WHEN t.from_state = 'started' THEN 1 ELSE 2 END, t.id,
            t.from_state, t.to_state, t.attempt, t.at, t.reason, t.job_id
        FROM hooklatch.effects AS e
        JOIN hooklatch.transitions AS t
            ON t.effect_id = e.effect_id
            AND t.at BETWEEN e.created_at - interval '1 day' AND now() + interval '1 day'
        UNION ALL
        -- An attempt begins pending or, since doubt is never taken back, in doubt.
        SELECT
            e.scope, e.key, e.generation, false, a.attempt, 0, 0,
            CASE WHEN e.maybe_applied_since < a.started_at THEN 'in_doubt' ELSE 'pending' END, 'started',
            a.attempt, a.claimed_at, '', a.job_id
        FROM hooklatch.effects AS e
        JOIN hooklatch.attempts AS a
            ON a.effect_id = e.effect_id
            AND a.started_at BETWEEN e.created_at - interval '1 day' AND now() + interval '1 day'
        UNION ALL
        SELECT
            e.scope, e.key, e.generation, false, e.attempt, 0, 0,
            CASE WHEN e.maybe_applied_since < e.last_attempt_at THEN 'in_doubt' ELSE 'pending' END, 'started',
            e.attempt, GREATEST(e.claimed_at, e.last_attempt_at), '', e.job_id
        FROM hooklatch.effects AS e
        WHERE e.state = 'started'
        UNION ALL
        SELECT
            e.scope, e.key, e.generation, false, a.attempt, 1, 0,
            'started', a.state, a.attempt, a.settled_at, CASE WHEN a.state = 'done' THEN '' ELSE left(a.error, 300) END, a.job_id
        FROM hooklatch.effects AS e
        JOIN hooklatch.attempts AS a
            ON a.effect_id = e.effect_id
            AND a.started_at BETWEEN e.created_at - interval '1 day' AND now() + interval '1 day'
        WHERE NOT a.lost
    ) AS step
) AS told
WHERE told.id > 0
    OR told.to_state <> 'started'
    OR NOT told.has_beginning;

COMMENT ON VIEW hooklatch.effect_transitions IS 'Every transition after the effect''s creation; id counts those of one effect.';
