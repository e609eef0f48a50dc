-- Reserves numbers below those of all events that are accepted in the run: see Reserved.
SELECT setval('hooklatch.accept_seq', 1000000);
CREATE SEQUENCE torture.past_event AS bigint MAXVALUE 1000000;

-- The past begins four years ago and ends 500 days ago, so every retention period is over. Each
-- crash of the server skips up to 32 days of the sequence, so a long run may reach the end. The
-- sequence then starts over with the first days, which were deleted long before. The past begins no
-- earlier, because a search by an effect's key alone takes longer the older the past is.
DO $$
DECLARE
    today bigint := current_date - date '1990-01-01';
BEGIN
    EXECUTE format('CREATE SEQUENCE torture.past_day AS bigint MINVALUE %s MAXVALUE %s CYCLE', today - 1500, today - 500);
END
$$;

-- Drops the empty partition for all attempts before the first daily partition, because it covers
-- the days of the past.
ALTER TABLE hooklatch.attempts DETACH PARTITION hooklatch.attempts_past;
DROP TABLE hooklatch.attempts_past;

-- Lists the tables with days of the past. All live data is younger than 400 days.
CREATE VIEW torture.past_tables AS
SELECT relname::text AS past_table
FROM pg_class
WHERE relnamespace = 'hooklatch'::regnamespace
    AND relkind = 'r'
    AND relname ~ '_[0-9]{8}(_thin)?$'
    AND substring(relname FROM '_([0-9]{8})') < to_char(current_date - 400, 'YYYYMMDD');

-- Creates a day with one skipped and one failed event, each of which has an effect and the effect's
-- rows. The day also has an imported event, and one row of everything else that retention deletes.
-- It creates no day while eight exist: if no process were left to delete them, hundreds of
-- partitions would slow everything down.
CREATE FUNCTION torture.make_past() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    day      date;
    noon     timestamptz;
    whole    text;
    part     text;
    fate     text;
    name     text;
    delivery uuid;
    event    bigint;
    effect   bigint;
BEGIN
    IF (SELECT count(*) FROM torture.past_tables WHERE past_table ~ '^attempts_') >= 8 THEN
        RETURN;
    END IF;
    day := date '1990-01-01' + nextval('torture.past_day')::integer;
    IF to_regclass('hooklatch.attempts_' || to_char(day, 'YYYYMMDD')) IS NOT NULL THEN
        RETURN; -- the day is from before the sequence started over
    END IF;
    noon := day::timestamp AT TIME ZONE 'UTC' + interval '12 hours';
    FOREACH whole IN ARRAY ARRAY['deliveries', 'links', 'attempts', 'transitions'] LOOP
        part := whole || '_' || to_char(day, 'YYYYMMDD');
        EXECUTE format('CREATE TABLE hooklatch.%I (LIKE hooklatch.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)', part, whole);
        EXECUTE format('ALTER TABLE hooklatch.%I ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
            whole, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
    END LOOP;
    FOREACH fate IN ARRAY ARRAY['skipped', 'failed'] LOOP
        name := day || ' ' || fate;
        delivery := gen_random_uuid();
        event := nextval('torture.past_event');
        INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
        VALUES (delivery, noon, 'past', '{}', 'application/json', '{}');
        INSERT INTO hooklatch.processed_events (
            source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at
        )
        VALUES ('past', name, event, gen_random_uuid(), 'hmac', 'past', noon, delivery, '', 'dispatch', fate, noon);
        INSERT INTO hooklatch.effects (
            scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, accept_seq, request_body, created_at
        )
        VALUES ('past/all', name, 1, name, 'past', 'past', 'at_least_once', 'past', name, event, '', noon)
        RETURNING effect_id INTO effect;
        UPDATE hooklatch.effects -- cancelled as if by an operator, so that retention keeps no rows for it
        SET
            state = 'cancelled',
            finished_at = noon
        WHERE scope = 'past/all'
            AND key = name
            AND generation = 1;
        INSERT INTO hooklatch.links (accept_seq, linked_at, generation, suppressed, scope, key)
        VALUES (event, noon, 1, false, 'past/all', name);
        INSERT INTO hooklatch.attempts (effect_id, started_at, claimed_at, finished_at, settled_at, attempt, state, applied)
        VALUES (effect, noon, noon, noon, noon, 1, 'done', 'yes');
        INSERT INTO hooklatch.transitions (effect_id, at, attempt, from_state, to_state)
        VALUES (effect, noon, 1, 'started', 'done');
    END LOOP;
    INSERT INTO hooklatch.processed_events (
        source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at
    )
    VALUES ('past', day || ' imported', -nextval('torture.past_event'), gen_random_uuid(), '', 'unknown', noon,
        '00000000-0000-0000-0000-000000000000', '', '', 'imported', noon);
    INSERT INTO hooklatch.replay_guards (source, hash, acceptance_id, seen_at, last_seen_at)
    VALUES ('past', sha256(day::text::bytea), gen_random_uuid(), noon, noon);
    INSERT INTO hooklatch.content_guards (source, hash, event_id, acceptance_id, accepted_at, expires_at)
    VALUES ('past', sha256(day::text::bytea), name, gen_random_uuid(), noon, noon);
    INSERT INTO hooklatch.event_replays (source, event_id, generation, new_keys, requested_at)
    VALUES ('past', name, 2, false, noon);
    INSERT INTO hooklatch.object_versions (scope, latest_key, occurred_at, accept_seq, idempotency_key, applied_at)
    VALUES ('past/all', name, noon, event, name, noon);
    INSERT INTO hooklatch.operator_log (at, who, via, action, target, affected, request_id)
    VALUES (noon, 'past', 'past', 'past', name, 1, name);
END
$$;

-- Ends unfinished events, except the newest ones. The numbers of the events show which ones are
-- newest. Their days do not, because the days start over.
CREATE FUNCTION torture.end_past(newest integer) RETURNS void
LANGUAGE sql AS $$
    UPDATE hooklatch.processed_events
    SET outcome = 'skipped'
    WHERE source = 'past'
        AND outcome = 'failed'
        AND accept_seq <= (
            SELECT unfinished.accept_seq
            FROM hooklatch.processed_events AS unfinished
            WHERE unfinished.source = 'past'
                AND unfinished.outcome = 'failed'
            ORDER BY unfinished.accept_seq DESC
            OFFSET newest
            LIMIT 1
        )
$$;
