-- Forgets which days are exported. The files of the export stay, and nothing reads or erases them.
--
-- Locks: ACCESS EXCLUSIVE on the two tables and retention_progress, for the moment it takes to drop the
-- tables and the column.
CREATE OR REPLACE FUNCTION hooklatch.erase_event(the_source text, the_event_id text, note text, redacting boolean) RETURNS TABLE (effects bigint, others bigint)
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
    PERFORM hooklatch.refuse_while_days_leave('{search_values}', known.received_at, known.received_at);
    DELETE FROM hooklatch.search_values AS v
    WHERE v.accept_seq = known.accept_seq
        AND v.received_at = known.received_at;
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

ALTER TABLE hooklatch.retention_progress DROP COLUMN export_failed_since;
DROP TABLE hooklatch.export_erasures;
DROP TABLE hooklatch.exported_days;
