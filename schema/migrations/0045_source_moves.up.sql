-- expand
-- Sources that move to another cell. A moving source has triggers: one refuses its events once it is
-- fenced, and the others note the rows that the other cell must know. Processes of an earlier version
-- are refused too. They answer 503, because they do not know the other cell.
--
-- Locks: no existing table. It adds two tables and six functions. begin_move and end_move later take
-- SHARE ROW EXCLUSIVE on one table at a time, for the moment it takes to add or drop the triggers of
-- one source.

CREATE TABLE hooklatch.source_moves (
    source       text        NOT NULL PRIMARY KEY,
    move_id      uuid        NOT NULL,
    to_cell      text        NOT NULL DEFAULT '',
    fenced_until timestamptz NOT NULL DEFAULT '-infinity',
    moved_at     timestamptz,
    from_cell    text        NOT NULL DEFAULT '',
    progress     jsonb       NOT NULL DEFAULT '{}',
    arrived_at   timestamptz
);

COMMENT ON TABLE hooklatch.source_moves IS 'Sources that leave this cell, or came from another cell.';
COMMENT ON COLUMN hooklatch.source_moves.move_id IS 'The latest move. Both cells have the same.';
COMMENT ON COLUMN hooklatch.source_moves.to_cell IS 'The cell to which the source moves. Empty: it does not leave.';
COMMENT ON COLUMN hooklatch.source_moves.fenced_until IS 'Until then, no event of the source is stored here. The fence ends by itself if the move is interrupted.';
COMMENT ON COLUMN hooklatch.source_moves.moved_at IS 'Since then, the other cell stores the events of the source.';
COMMENT ON COLUMN hooklatch.source_moves.from_cell IS 'The cell from which the source comes. Empty: it does not come.';
COMMENT ON COLUMN hooklatch.source_moves.progress IS 'For each table, the position up to which its rows were copied here.';
COMMENT ON COLUMN hooklatch.source_moves.arrived_at IS 'Since then, everything that the other cell knew is known here.';

CREATE TABLE hooklatch.moving_rows (
    id         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    source     text   NOT NULL,
    table_name text   NOT NULL,
    content    jsonb  NOT NULL,
    PRIMARY KEY (source, id)
);

COMMENT ON TABLE hooklatch.moving_rows IS 'Rows of moving sources that were written since the move began. The move copies and deletes them.';

-- The columns of a row that the other cell must know.
CREATE FUNCTION hooklatch.moving_content(the_table text, row_of_table jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT COALESCE(jsonb_object_agg(c.name, row_of_table -> c.name), '{}')
    FROM unnest(
        CASE the_table
            WHEN 'processed_events' THEN
                '{event_id,acceptance_id,provider,event_type,api_version,occurred_at,received_at,payload_hash}'::text[]
            WHEN 'effects' THEN '{scope,key,generation,idempotency_key,route,destination,queue,policy,event_id,event_type,created_at}'
            WHEN 'replay_guards' THEN '{hash,acceptance_id,seen_at,content,last_seen_at}'
            WHEN 'content_guards' THEN '{hash,event_id,acceptance_id,accepted_at,expires_at}'
            WHEN 'object_versions' THEN '{scope,latest_key,occurred_at,idempotency_key,applied_at}'
        END
    ) AS c (name)
$$;
REVOKE ALL ON FUNCTION hooklatch.moving_content(text, jsonb) FROM PUBLIC;

CREATE FUNCTION hooklatch.note_moving() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO hooklatch.moving_rows (source, table_name, content)
    VALUES (TG_ARGV[0], TG_TABLE_NAME, hooklatch.moving_content(TG_TABLE_NAME, to_jsonb(NEW)));
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION hooklatch.note_moving() FROM PUBLIC;

-- fence_move takes the same lock exclusively. When it has the lock, all earlier events are committed
-- or rolled back, and every later event sees the fence.
CREATE FUNCTION hooklatch.refuse_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    moves_to text;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('hooklatch.move ' || NEW.source, 0));
    SELECT m.to_cell INTO moves_to
    FROM hooklatch.source_moves AS m
    WHERE m.source = NEW.source
        AND (m.moved_at IS NOT NULL OR m.fenced_until > clock_timestamp());
    IF FOUND THEN
        RAISE EXCEPTION 'source % moves to the cell %', NEW.source, moves_to
            USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = 'source_moves';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION hooklatch.refuse_moved() FROM PUBLIC;

-- Adds the triggers of a source to one table, unless they exist.
CREATE FUNCTION hooklatch.begin_move(the_source text, the_table text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    moved text := format('hooklatch.%I', the_table)::regclass;
    name  text := substr(encode(sha256(convert_to(the_source, 'UTF8')), 'hex'), 1, 16);
BEGIN
    IF the_table = 'processed_events' AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = moved::regclass AND t.tgname = 'moved_' || name) THEN
        EXECUTE format(
            'CREATE TRIGGER %I BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.source = %L AND NEW.outcome <> ''imported'') EXECUTE FUNCTION hooklatch.refuse_moved()',
            'moved_' || name, moved, the_source);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = moved::regclass AND t.tgname = 'moving_' || name) THEN
        EXECUTE format(
            'CREATE TRIGGER %I AFTER %s ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION hooklatch.note_moving(%L)',
            'moving_' || name,
            CASE WHEN the_table IN ('processed_events', 'effects', 'replay_guards') THEN 'INSERT' ELSE 'INSERT OR UPDATE' END,
            moved,
            CASE the_table
                -- The default key is the id of the event, which cannot come again.
                WHEN 'effects' THEN format('NEW.source = %L AND NEW.key <> NEW.event_id AND starts_with(NEW.scope, %L)', the_source, 'route:' || the_source || ':')
                WHEN 'object_versions' THEN format('starts_with(NEW.scope, %L)', 'route:' || the_source || ':')
                ELSE format('NEW.source = %L', the_source)
            END,
            the_source);
    END IF;
END
$$;
REVOKE ALL ON FUNCTION hooklatch.begin_move(text, text) FROM PUBLIC;

-- Drops the triggers that note rows of a source in one table. The fence stays.
CREATE FUNCTION hooklatch.end_move(the_source text, the_table text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('DROP TRIGGER IF EXISTS %I ON hooklatch.%I',
        'moving_' || substr(encode(sha256(convert_to(the_source, 'UTF8')), 'hex'), 1, 16), the_table);
END
$$;
REVOKE ALL ON FUNCTION hooklatch.end_move(text, text) FROM PUBLIC;
