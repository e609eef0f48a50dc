-- expand
-- Views and erasures find the rows of an event or effect in the daily tables, even if the database's
-- clock was set back or forward meanwhile: their bounds enclose the times in the row of the event or
-- effect. Before, an erasure left attempts, transitions or whole effects. The bounds of erasures also
-- allow for 7 days of error at times that the row does not keep: other attempts, and the dispatch
-- before a replay. Redaction notes when it ran, and waits if the clock seems to have jumped.
--
-- Locks: ACCESS EXCLUSIVE on three views and redaction_progress, for the moment it takes to change the
-- catalogue.
ALTER TABLE hooklatch.redaction_progress
    ADD COLUMN ran_at timestamptz,
    ADD COLUMN waits_since timestamptz;

COMMENT ON COLUMN hooklatch.redaction_progress.ran_at IS 'Start of the last run that could redact events of the source.';
COMMENT ON COLUMN hooklatch.redaction_progress.waits_since IS 'Since when redaction waits, because more than three days seem to have passed since ran_at.';

CREATE OR REPLACE VIEW hooklatch.all_attempts AS
SELECT
    e.scope, e.key, e.generation, a.attempt, a.started_at, a.finished_at, a.lost, a.state, a.applied,
    a.response_status, a.response_excerpt, a.error, a.job_id, a.claim_id, a.key_rotation
FROM hooklatch.effects AS e
JOIN hooklatch.attempts AS a
    ON a.effect_id = e.effect_id
    AND a.started_at BETWEEN LEAST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) - interval '1 day'
        AND GREATEST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) + interval '1 day'
UNION ALL
SELECT
    scope, key, generation, attempt, started_at, finished_at, lost, state, applied,
    response_status, response_excerpt, error, job_id, claim_id, key_rotation
FROM hooklatch.effect_attempts;

CREATE OR REPLACE VIEW hooklatch.all_links AS
SELECT p.source, p.event_id, l.scope, l.key, l.generation, l.suppressed, l.linked_at
FROM hooklatch.processed_events AS p
JOIN hooklatch.links AS l
    ON l.accept_seq = p.accept_seq
    AND l.linked_at BETWEEN LEAST(p.received_at, p.processed_at, now()) - interval '1 day'
        AND GREATEST(p.received_at, p.processed_at, now()) + interval '1 day'
UNION ALL
SELECT source, event_id, scope, key, generation, suppressed, linked_at
FROM hooklatch.effect_events;

CREATE OR REPLACE VIEW hooklatch.effect_transitions AS
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
            AND t.at BETWEEN LEAST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) - interval '1 day'
                AND GREATEST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) + interval '1 day'
        UNION ALL
        -- An attempt begins pending or, since doubt is never taken back, in doubt.
        SELECT
            e.scope, e.key, e.generation, false, a.attempt, 0, 0,
            CASE WHEN e.maybe_applied_since < a.started_at THEN 'in_doubt' ELSE 'pending' END, 'started',
            a.attempt, a.claimed_at, '', a.job_id
        FROM hooklatch.effects AS e
        JOIN hooklatch.attempts AS a
            ON a.effect_id = e.effect_id
            AND a.started_at BETWEEN LEAST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) - interval '1 day'
                AND GREATEST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) + interval '1 day'
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
            AND a.started_at BETWEEN LEAST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) - interval '1 day'
                AND GREATEST(e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, now()) + interval '1 day'
        WHERE NOT a.lost
    ) AS step
) AS told
WHERE told.id > 0
    OR told.to_state <> 'started'
    OR NOT told.has_beginning;

-- As before, but for the bounds.
CREATE OR REPLACE FUNCTION hooklatch.erase_effect(the_scope text, the_key text, the_generation integer, note text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    known record;
    since timestamptz;
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
    RETURNING e.effect_id, e.created_at, e.first_attempt_at, e.last_attempt_at, e.finished_at, e.destination INTO known;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'effect %/% generation % is not there, or not finished', the_scope, the_key, the_generation
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    since := LEAST(known.created_at, known.first_attempt_at, known.last_attempt_at, known.finished_at, now()) - interval '7 days';
    PERFORM hooklatch.refuse_while_days_leave('{attempts, transitions}', since, now());
    -- No upper bound: a row that was written while the clock was ahead is in a day of the future.
    UPDATE hooklatch.attempts AS a
    SET
        response_excerpt = '',
        error = ''
    WHERE a.effect_id = known.effect_id
        AND a.started_at >= since;
    UPDATE hooklatch.transitions AS t
    SET reason = ''
    WHERE t.effect_id = known.effect_id
        AND t.at >= since;
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

-- As before, but for the days that may leave.
CREATE OR REPLACE FUNCTION hooklatch.erase_event(the_source text, the_event_id text, note text, redacting boolean) RETURNS TABLE (effects bigint, others bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
    known record;
    made  record;
    since timestamptz;
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
    RETURNING p.outcome, p.accept_seq, p.delivery_id, p.received_at, p.processed_at, p.payload_hash INTO known;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'event %/% is not there, or not finished', the_source, the_event_id
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE hooklatch.event_replays AS r
    SET previous_error = ''
    WHERE r.source = the_source
        AND r.event_id = the_event_id;
    PERFORM hooklatch.refuse_while_days_leave('{search_values}', known.received_at, known.received_at);
    DELETE FROM hooklatch.search_values AS v
    WHERE v.accept_seq = known.accept_seq
        AND v.received_at = known.received_at;
    effects := 0;
    since := LEAST(known.received_at, known.processed_at, now()) - interval '7 days';
    PERFORM hooklatch.refuse_while_days_leave('{links}', since, now());
    FOR made IN
        SELECT DISTINCT e.scope COLLATE "C" AS scope, e.key COLLATE "C" AS key, e.generation
        FROM (
            SELECT l.scope, l.key, l.generation, l.suppressed
            FROM hooklatch.links AS l
            WHERE l.accept_seq = known.accept_seq
                AND l.linked_at >= since
            UNION ALL
            SELECT l.scope, l.key, l.generation, l.suppressed
            FROM hooklatch.effect_events AS l
            WHERE l.source = the_source
                AND l.event_id = the_event_id
        ) AS l
        CROSS JOIN LATERAL (
            SELECT e.scope, e.key, e.generation, e.source, e.event_id
            FROM hooklatch.effects AS e
            WHERE e.scope = l.scope
                AND e.key = l.key
                AND e.generation = l.generation
            OFFSET 0 -- each by a look-up of its own
        ) AS e
        -- What an earlier event had made is that event's.
        WHERE NOT l.suppressed
            OR e.source = the_source AND e.event_id = the_event_id
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
    IF EXISTS (SELECT FROM hooklatch.exported_days) THEN
        INSERT INTO hooklatch.export_erasures AS x (source, event_id, note, redacting)
        VALUES (the_source, the_event_id, erase_event.note, erase_event.redacting)
        ON CONFLICT (source, event_id) DO UPDATE
        SET
            note = EXCLUDED.note,
            redacting = x.redacting AND EXCLUDED.redacting,
            requested_at = EXCLUDED.requested_at;
    END IF;
    RETURN NEXT;
END
$$;
