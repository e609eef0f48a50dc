-- expand
-- Days whose deliveries are exported before retention drops them, and erasures that the export lacks.
-- Processes of an earlier version export nothing. Their erasures reach the export, because
-- erase_event notes them.
--
-- Locks: ACCESS EXCLUSIVE on retention_progress, for the moment it takes to add a column. It adds two
-- tables, and changes a function's row in the catalogue.

CREATE TABLE hooklatch.exported_days (
    day             date        NOT NULL PRIMARY KEY,
    begun_at        timestamptz NOT NULL DEFAULT now(),
    parts           jsonb       NOT NULL DEFAULT '[]',
    manifest        text        NOT NULL DEFAULT '',
    manifest_sha256 bytea       NOT NULL DEFAULT '',
    garbage         text[]      NOT NULL DEFAULT '{}',
    deliveries      bigint      NOT NULL DEFAULT 0,
    events          bigint      NOT NULL DEFAULT 0,
    bytes           bigint      NOT NULL DEFAULT 0,
    exported_at     timestamptz,
    failed_since    timestamptz,
    error           text        NOT NULL DEFAULT ''
);

COMMENT ON TABLE hooklatch.exported_days IS 'Days of deliveries in the export of retention.export.';
COMMENT ON COLUMN hooklatch.exported_days.parts IS 'Parts written so far, while the day is unfinished.';
COMMENT ON COLUMN hooklatch.exported_days.manifest IS 'Name of the manifest that is valid. Empty: the day is unfinished.';
COMMENT ON COLUMN hooklatch.exported_days.garbage IS 'Names of files that may exist and that no valid manifest contains. They are to be deleted.';
COMMENT ON COLUMN hooklatch.exported_days.failed_since IS 'Since when exporting or rewriting the day fails, for the reason in error.';

ALTER TABLE hooklatch.retention_progress ADD COLUMN export_failed_since timestamptz;

COMMENT ON COLUMN hooklatch.retention_progress.export_failed_since IS 'Of payloads: since when the export fails. Retention deletes nothing meanwhile.';

-- Erasures and redactions that may have to be repeated in the export.
CREATE TABLE hooklatch.export_erasures (
    source       text        NOT NULL,
    event_id     text        NOT NULL,
    note         text        NOT NULL,
    redacting    boolean     NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, event_id)
);

COMMENT ON TABLE hooklatch.export_erasures IS 'Erased events whose copies in the export are still to be erased.';
COMMENT ON COLUMN hooklatch.export_erasures.note IS 'The error of the erased event. It names the operator.';

-- As before. An erasure and a redaction are also noted for the export.
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
