-- links is the one table without a key. Where a publication publishes deletions, as one
-- FOR ALL TABLES does (change data capture, blue/green upgrades), Postgres refuses a DELETE
-- on such a table, and retention stood still. A row of links is known by all of its columns.
--
-- Locks: ACCESS EXCLUSIVE on links and its partitions, for the moment it takes to change
-- their rows in the catalogue.

DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN
        SELECT c.oid
        FROM pg_class AS c
        WHERE c.relnamespace = (SELECT l.relnamespace FROM pg_class AS l WHERE l.oid = 'hooklatch.links'::regclass)
            AND c.relname ~ '^links(_[0-9]{8})?$'
            AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', part, 'FULL');
    END LOOP;
END
$$;

-- As before, but that a day of links has its replica identity from the start.
CREATE OR REPLACE FUNCTION hooklatch.make_delivery_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    first_day date := (now() AT TIME ZONE 'UTC')::date;
    day       date;
    whole     text;
    part      text;
    missing   boolean;
    made      integer := 0;
BEGIN
    IF days_ahead IS NULL OR days_ahead NOT BETWEEN 0 AND 60 THEN
        RAISE EXCEPTION 'make_delivery_partitions: days_ahead is %; allowed: 0 to 60', COALESCE(days_ahead::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
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
                IF whole = 'links' THEN
                    EXECUTE format('ALTER TABLE hooklatch.%I REPLICA IDENTITY FULL', part);
                END IF;
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

-- As before, but for the same.
CREATE OR REPLACE FUNCTION hooklatch.thin_day(whole text, day date, numbers bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part   text := hooklatch.past_day(whole, day);
    thin   text := part || '_thin';
    number text := CASE whole WHEN 'links' THEN 'accept_seq' ELSE 'effect_id' END;
    kept   bigint;
BEGIN
    IF whole = 'deliveries' THEN
        RAISE EXCEPTION 'retention: of deliveries keep_deliveries keeps some' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass('hooklatch.' || part)) THEN
        EXECUTE format('DELETE FROM hooklatch.%I WHERE %I <> ALL ($1)', part, number) USING numbers;
        EXECUTE format('SELECT count(*) FROM hooklatch.%I', part) INTO kept;
        RETURN kept;
    END IF;
    EXECUTE format(
        'CREATE TABLE hooklatch.%I (LIKE hooklatch.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)',
        thin, whole);
    IF whole = 'links' THEN
        EXECUTE format('ALTER TABLE hooklatch.%I REPLICA IDENTITY FULL', thin);
    END IF;
    IF to_regclass('hooklatch.' || part) IS NOT NULL THEN
        EXECUTE format('INSERT INTO hooklatch.%I SELECT d.* FROM unnest($1) AS a (number) JOIN hooklatch.%I AS d ON d.%I = a.number', thin, part, number)
            USING numbers;
        EXECUTE format('DROP TABLE hooklatch.%I', part);
    END IF;
    EXECUTE format('SELECT count(*) FROM hooklatch.%I', thin) INTO kept;
    EXECUTE format('ALTER TABLE hooklatch.%I RENAME TO %I', thin, part);
    EXECUTE format('COMMENT ON TABLE hooklatch.%I IS %L', part, 'thin');
    EXECUTE format('ALTER TABLE hooklatch.%I ATTACH PARTITION hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
        whole, part, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
    RETURN kept;
END
$$;
