-- On which server the rows were written, so that a worker which meets them on another
-- one, a restored or a promoted, can tell. A new table of one row, and functions: no
-- table is locked.

-- The server that asks. A base backup keeps the system identifier and gets another
-- timeline when it is opened for writing; a dump is restored into a server with
-- another identifier. The timeline is that of the WAL which is written now:
-- pg_control_checkpoint() has the one of the last checkpoint, which may be the one of
-- before for minutes. What a service does not let us ask is NULL. It asks for the role
-- that migrates: what one process may ask and another may not would differ.
CREATE FUNCTION hooklatch.this_server(OUT system_id bigint, OUT timeline integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    BEGIN
        SELECT c.system_identifier INTO system_id FROM pg_control_system() AS c;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        NULL;
    END;
    BEGIN
        IF pg_is_in_recovery() THEN
            SELECT c.timeline_id INTO timeline FROM pg_control_checkpoint() AS c;
        ELSE
            timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
        END IF;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR object_not_in_prerequisite_state THEN
        NULL;
    END;
END
$$;

REVOKE ALL ON FUNCTION hooklatch.this_server() FROM PUBLIC;

CREATE TABLE hooklatch.installation (
    one          boolean     NOT NULL DEFAULT true PRIMARY KEY,
    system_id    bigint,
    timeline     integer,
    epoch        bigint      NOT NULL DEFAULT 1,
    changed_at   timestamptz NOT NULL DEFAULT now(),
    restored_to  timestamptz,
    restored_at  timestamptz,
    restored_seq bigint      NOT NULL DEFAULT 0,
    CONSTRAINT only_one CHECK (one),
    CONSTRAINT restored_at_a_time CHECK ((restored_to IS NULL) = (restored_at IS NULL))
);

COMMENT ON TABLE hooklatch.installation IS 'The server on which it is known what was done. While another one asks, no at_most_once effect starts.';
COMMENT ON COLUMN hooklatch.installation.epoch IS 'Counts the servers, and what people said of them.';
COMMENT ON COLUMN hooklatch.installation.changed_at IS 'Since when it is this server.';
COMMENT ON COLUMN hooklatch.installation.restored_to IS 'To which time the database was last restored. NULL: never, as far as anybody said.';
COMMENT ON COLUMN hooklatch.installation.restored_at IS 'When that was said. An at_most_once effect of before may have been applied in the time that is missing: it starts again only by a person''s order.';
COMMENT ON COLUMN hooklatch.installation.restored_seq IS 'The last event that had been accepted then. Effects that it leads to later are like those of before.';

INSERT INTO hooklatch.installation (system_id, timeline)
SELECT s.system_id, s.timeline
FROM hooklatch.this_server() AS s;
