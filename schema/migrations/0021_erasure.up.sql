-- What a person orders to be erased, and what a source has redacted: the content goes,
-- and what makes an event known again stays.
--
-- Locks: processed_events and effects exclusively, for the moment it takes to change
-- the catalogue. No row is read or written.
ALTER TABLE hooklatch.processed_events
    ADD COLUMN erased_at timestamptz,
    ADD COLUMN redacted_at timestamptz;
ALTER TABLE hooklatch.effects
    ADD COLUMN erased_at timestamptz;

COMMENT ON COLUMN hooklatch.processed_events.erased_at IS 'When a person had its content erased; error says who. It is never dispatched again.';
COMMENT ON COLUMN hooklatch.processed_events.redacted_at IS 'When the values that its source redacts were replaced. It is never dispatched again.';
COMMENT ON COLUMN hooklatch.effects.erased_at IS 'When its request and what was answered were erased, or redacted; error says by whom. It is never attempted again.';

-- How far the events of a source are redacted. Those up to accept_seq are, but for the
-- ones that wait for the end of their effects.
CREATE TABLE hooklatch.redaction_progress (
    source     text   NOT NULL PRIMARY KEY,
    rules      text   NOT NULL,
    accept_seq bigint NOT NULL
);
CREATE TABLE hooklatch.redaction_waiting (
    source   text NOT NULL,
    event_id text NOT NULL,
    PRIMARY KEY (source, event_id)
);

COMMENT ON TABLE hooklatch.redaction_progress IS 'How far the events of each source that redacts are redacted.';
COMMENT ON COLUMN hooklatch.redaction_progress.rules IS 'Hash of what was redacted. With other rules it begins anew.';
COMMENT ON TABLE hooklatch.redaction_waiting IS 'Events that redaction came by before their effects had ended.';

-- The functions run with the rights of their owner: whoever erases, and the worker that
-- redacts, needs EXECUTE on them, and no right to change what was delivered or attempted.
-- None makes content: they take it away.

-- Those who change the body of a delivery do so one after another.
CREATE FUNCTION hooklatch.lock_delivery(the_delivery uuid) RETURNS void
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.delivery ' || the_delivery, 0))
$$;

-- Refuses to go on while retention has a day of these tables out of them, from one day
-- to another: what it keeps of that may be copied at this moment, and would have again
-- what is taken away. It is a matter of seconds, or of the next run where one was killed.
CREATE FUNCTION hooklatch.refuse_while_days_leave(wholes text[], since timestamptz, until timestamptz) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (
        SELECT
        FROM unnest(wholes) AS w (whole)
        JOIN pg_class AS c
            ON c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('hooklatch.' || w.whole))
            AND c.relname BETWEEN w.whole || '_' || to_char(since AT TIME ZONE 'UTC', 'YYYYMMDD') AND w.whole || '_' || to_char(until AT TIME ZONE 'UTC', 'YYYYMMDD')
            AND c.relname ~ '_[0-9]{8}$'
            AND c.relkind = 'r'
        LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
        WHERE i.inhrelid IS NULL
            OR i.inhdetachpending
    ) THEN
        RAISE EXCEPTION 'retention is at a day of the content that is to go: it can be erased in a moment'
            USING ERRCODE = 'lock_not_available';
    END IF;
END
$$;

-- The bytes a delivery came in, while they are kept, for one who is to change them.
CREATE FUNCTION hooklatch.stored_delivery(the_delivery uuid, at timestamptz) RETURNS TABLE (source text, content_type text, body bytea)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM hooklatch.lock_delivery(the_delivery);
    PERFORM hooklatch.refuse_while_days_leave('{deliveries}', stored_delivery.at, stored_delivery.at);
    RETURN QUERY
    SELECT d.source, d.content_type, d.body
    FROM hooklatch.deliveries AS d
    WHERE d.delivery_id = the_delivery
        AND d.received_at = stored_delivery.at;
    IF NOT FOUND THEN
        RETURN QUERY
        SELECT d.source, d.content_type, d.body
        FROM hooklatch.deliveries_kept AS d
        WHERE d.delivery_id = the_delivery
            AND d.received_at = stored_delivery.at;
    END IF;
END
$$;

-- Takes the copies of a body out of the quarantine, which a later migration makes: they
-- were refused before the body was accepted, or when it came again.
CREATE FUNCTION hooklatch.forget_rejected(the_source text, the_hash bytea) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF to_regclass('hooklatch.rejected_deliveries') IS NOT NULL THEN
        DELETE FROM hooklatch.rejected_deliveries AS r
        WHERE r.source = the_source
            AND r.body_hash = the_hash;
    END IF;
END
$$;

-- The events that came in one delivery. They took their numbers one after another, but
-- transactions that ran beside theirs took some in between: the search ends where
-- neither the numbers nor the times are near any more.
CREATE FUNCTION hooklatch.events_of_delivery(the_delivery uuid, at timestamptz, near bigint) RETURNS TABLE (source text, event_id text, erased boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    found_one record;
    strangers integer := 0;
BEGIN
    FOR found_one IN
        SELECT p.source, p.event_id, p.delivery_id, p.received_at, p.erased_at
        FROM hooklatch.processed_events AS p
        WHERE p.accept_seq >= near
        ORDER BY p.accept_seq
    LOOP
        strangers := CASE WHEN found_one.delivery_id = the_delivery THEN 0 ELSE strangers + 1 END;
        EXIT WHEN strangers > 2000 AND found_one.received_at > events_of_delivery.at + interval '30 seconds';
        IF strangers = 0 THEN
            source := found_one.source;
            event_id := found_one.event_id;
            erased := found_one.erased_at IS NOT NULL;
            RETURN NEXT;
        END IF;
    END LOOP;
    strangers := 0;
    FOR found_one IN
        SELECT p.source, p.event_id, p.delivery_id, p.received_at, p.erased_at
        FROM hooklatch.processed_events AS p
        WHERE p.accept_seq < near
        ORDER BY p.accept_seq DESC
    LOOP
        strangers := CASE WHEN found_one.delivery_id = the_delivery THEN 0 ELSE strangers + 1 END;
        EXIT WHEN strangers > 2000 AND found_one.received_at < events_of_delivery.at - interval '30 seconds';
        IF strangers = 0 THEN
            source := found_one.source;
            event_id := found_one.event_id;
            erased := found_one.erased_at IS NOT NULL;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

-- Puts a word in the place of values of a body, and leaves every other byte as it was.
-- False: the body is not, or no longer, the one the places were found in.
CREATE FUNCTION hooklatch.blot_delivery(the_delivery uuid, at timestamptz, was bytea, starts integer[], lengths integer[], kind text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    word bytea := CASE kind
        WHEN 'item' THEN 'null'
        WHEN 'json' THEN '"redacted"'
        WHEN 'form' THEN 'redacted'
    END;
    origin  text;
    before  bytea;
    blotted bytea;
BEGIN
    IF word IS NULL THEN
        RAISE EXCEPTION 'blot_delivery: kind must be item, json or form'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT d.source, d.body INTO origin, before
    FROM hooklatch.stored_delivery(the_delivery, blot_delivery.at) AS d;
    IF before IS NULL OR sha256(before) <> was THEN
        RETURN false;
    END IF;
    SELECT string_agg(substring(before FROM p.after + 1 FOR p.start - p.after) || word, '' ORDER BY p.start) || substring(before FROM max(p.start + p.length) + 1)
    INTO blotted
    FROM (
        SELECT s.start, s.length, lag(s.start + s.length, 1, 0) OVER (ORDER BY s.start) AS after
        FROM unnest(starts, lengths) AS s (start, length)
    ) AS p;
    IF blotted IS NULL THEN
        RETURN true;
    END IF;
    PERFORM hooklatch.forget_rejected(origin, sha256(before));
    UPDATE hooklatch.deliveries AS d
    SET body = blotted
    WHERE d.delivery_id = the_delivery
        AND d.received_at = blot_delivery.at;
    UPDATE hooklatch.deliveries_kept AS d
    SET body = blotted
    WHERE d.delivery_id = the_delivery
        AND d.received_at = blot_delivery.at;
    RETURN true;
END
$$;

-- Takes headers and body of a delivery away, with the copies of it that were refused.
CREATE FUNCTION hooklatch.empty_delivery(the_delivery uuid, at timestamptz, the_source text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    PERFORM hooklatch.forget_rejected(the_source, sha256(d.body))
    FROM hooklatch.stored_delivery(the_delivery, empty_delivery.at) AS d;
    UPDATE hooklatch.deliveries AS d
    SET
        headers = '{}',
        content_type = '',
        body = ''
    WHERE d.delivery_id = the_delivery
        AND d.received_at = empty_delivery.at;
    UPDATE hooklatch.deliveries_kept AS d
    SET
        headers = '{}',
        content_type = '',
        body = ''
    WHERE d.delivery_id = the_delivery
        AND d.received_at = empty_delivery.at;
END
$$;

-- Takes away what an effect that is finished sent, what was answered, and what was
-- said about it. Its key, its state and its times stay.
CREATE FUNCTION hooklatch.erase_effect(the_scope text, the_key text, the_generation integer, note text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    known record;
BEGIN
    UPDATE hooklatch.effects AS e
    SET
        request_method = '',
        request_url = '',
        request_headers = '{}',
        request_type = '',
        -- NULL would be the body of the delivery.
        request_body = '',
        request_rendering = 'done',
        traceparent = '',
        order_key = '',
        latest_key = '',
        response_excerpt = '',
        error = note,
        erased_at = COALESCE(e.erased_at, now())
    WHERE e.scope = the_scope
        AND e.key = the_key
        AND e.generation = the_generation
        AND e.state IN ('done', 'failed', 'cancelled')
    RETURNING e.effect_id, e.created_at, e.destination INTO known;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'effect %/% generation % is not there, or not finished', the_scope, the_key, the_generation
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    PERFORM hooklatch.refuse_while_days_leave('{attempts, transitions}', known.created_at - interval '1 day', now());
    UPDATE hooklatch.attempts AS a
    SET
        response_excerpt = '',
        error = ''
    WHERE a.effect_id = known.effect_id
        AND a.started_at BETWEEN known.created_at - interval '1 day' AND now() + interval '1 day';
    UPDATE hooklatch.transitions AS t
    SET reason = ''
    WHERE t.effect_id = known.effect_id
        AND t.at BETWEEN known.created_at - interval '1 day' AND now() + interval '1 day';
    UPDATE hooklatch.effect_attempts AS a
    SET
        response_excerpt = '',
        error = ''
    WHERE a.scope = the_scope
        AND a.key = the_key
        AND a.generation = the_generation;
    UPDATE hooklatch.former_transitions AS t
    SET reason = ''
    WHERE t.scope = the_scope
        AND t.key = the_key
        AND t.generation = the_generation;
    -- The breaker remembers what the last attempt came to, which may be this one.
    UPDATE hooklatch.destinations AS d
    SET breaker_reason = regexp_replace(d.breaker_reason, ', the last with: .*$', '')
    WHERE d.name = known.destination
        AND strpos(d.breaker_reason, ', the last with: ') > 0;
END
$$;

-- Takes away what an event and the effects it made say. Its id, its keys and its
-- outcome stay, so that it is a duplicate when it comes again. Its part of the body
-- goes with the whole delivery when no other event needs that; others says how many do.
-- With redacting, only what its effects say goes: the body is blotted.
CREATE FUNCTION hooklatch.erase_event(the_source text, the_event_id text, note text, redacting boolean) RETURNS TABLE (effects bigint, others bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    known record;
    made  record;
BEGIN
    UPDATE hooklatch.processed_events AS p
    SET
        traceparent = CASE WHEN redacting THEN p.traceparent ELSE '' END,
        api_version = CASE WHEN redacting THEN p.api_version ELSE '' END,
        retry_reason = CASE WHEN redacting THEN p.retry_reason ELSE '' END,
        error = CASE WHEN redacting THEN p.error ELSE note END,
        erased_at = CASE WHEN redacting THEN p.erased_at ELSE COALESCE(p.erased_at, now()) END,
        redacted_at = CASE WHEN redacting THEN COALESCE(p.redacted_at, now()) ELSE p.redacted_at END
    WHERE p.source = the_source
        AND p.event_id = the_event_id
        AND p.outcome IN ('dispatched', 'skipped', 'dropped', 'imported')
    RETURNING p.outcome, p.accept_seq, p.delivery_id, p.received_at, p.payload_hash INTO known;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'event %/% is not there, or not finished', the_source, the_event_id
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE hooklatch.event_replays AS r
    SET previous_error = ''
    WHERE r.source = the_source
        AND r.event_id = the_event_id;
    effects := 0;
    PERFORM hooklatch.refuse_while_days_leave('{links}', known.received_at - interval '1 day', now());
    FOR made IN
        SELECT DISTINCT e.scope COLLATE "C" AS scope, e.key COLLATE "C" AS key, e.generation
        FROM hooklatch.all_links AS l
        CROSS JOIN LATERAL (
            SELECT e.scope, e.key, e.generation, e.source, e.event_id
            FROM hooklatch.effects AS e
            WHERE e.scope = l.scope
                AND e.key = l.key
                AND e.generation = l.generation
            OFFSET 0 -- each by a look-up of its own
        ) AS e
        WHERE l.source = the_source
            AND l.event_id = the_event_id
            -- What an earlier event had made is that event's.
            AND (NOT l.suppressed OR e.source = the_source AND e.event_id = the_event_id)
        ORDER BY 1, 2, 3
    LOOP
        PERFORM hooklatch.erase_effect(made.scope, made.key, made.generation, note);
        effects := effects + 1;
    END LOOP;
    others := 0;
    -- What was imported came in no delivery.
    IF NOT redacting AND known.outcome <> 'imported' THEN
        PERFORM hooklatch.forget_rejected(the_source, known.payload_hash);
        PERFORM hooklatch.lock_delivery(known.delivery_id);
        SELECT count(*) INTO others
        FROM hooklatch.events_of_delivery(known.delivery_id, known.received_at, known.accept_seq) AS one
        WHERE NOT one.erased;
        IF others = 0 THEN
            PERFORM hooklatch.empty_delivery(known.delivery_id, known.received_at, the_source);
        END IF;
    END IF;
    RETURN NEXT;
END
$$;

REVOKE ALL ON FUNCTION hooklatch.refuse_while_days_leave(text[], timestamptz, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.stored_delivery(uuid, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.events_of_delivery(uuid, timestamptz, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.lock_delivery(uuid) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.forget_rejected(text, bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.blot_delivery(uuid, timestamptz, bytea, integer[], integer[], text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.empty_delivery(uuid, timestamptz, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.erase_effect(text, text, integer, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.erase_event(text, text, text, boolean) FROM PUBLIC;
