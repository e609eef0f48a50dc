-- expand
-- A caller whose key was used before waits for the standby like the caller that used it. Otherwise an
-- application that repeats an enqueue after its COMMIT had no response would be told that the effect is
-- stored, although a failover could still lose it.
--
-- Locks: no table. It changes a function's row in the catalogue.

CREATE OR REPLACE FUNCTION hooklatch.enqueue_bytes(
    destination  text,
    key          text,
    body         bytea,
    content_type text DEFAULT 'application/octet-stream',
    headers      jsonb DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    known     record;
    the_scope text := 'enqueue:' || enqueue_bytes.destination;
    the_key   text := hooklatch.idempotency_key('enqueue:' || enqueue_bytes.destination, enqueue_bytes.key, 1);
BEGIN
    SELECT d.queue, d.policy INTO known
    FROM hooklatch.destinations AS d
    WHERE d.name = enqueue_bytes.destination;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'enqueue: unknown destination %', COALESCE(quote_literal(enqueue_bytes.destination), 'NULL')
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Workers register the destinations of their configuration when they start.';
    END IF;
    IF enqueue_bytes.key IS NULL OR octet_length(convert_to(enqueue_bytes.key, 'UTF8')) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'enqueue: the key must have 1 to 255 bytes'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF enqueue_bytes.body IS NULL THEN
        RAISE EXCEPTION 'enqueue: the body must not be NULL'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;

    INSERT INTO hooklatch.effects (
        scope, key, generation, idempotency_key, destination, queue, policy,
        request_headers, request_type, request_body
    )
    VALUES (
        the_scope, enqueue_bytes.key, 1, the_key, enqueue_bytes.destination, known.queue, known.policy,
        hooklatch.effect_headers(enqueue_bytes.headers), COALESCE(enqueue_bytes.content_type, ''), enqueue_bytes.body
    )
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        -- With synchronous replication the effect might not be on the standby yet, and a transaction
        -- that writes nothing does not wait for the standby. The WAL message makes it wait.
        IF current_setting('synchronous_standby_names') <> '' THEN
            PERFORM pg_logical_emit_message(true, 'hooklatch.duplicate', '');
        END IF;
        RETURN false;
    END IF;

    INSERT INTO hooklatch.river_job (args, kind, max_attempts, metadata, queue, tags)
    VALUES (
        jsonb_build_object('destination', enqueue_bytes.destination, 'generation', 1, 'key', enqueue_bytes.key, 'scope', the_scope),
        'effect', 10000,
        jsonb_build_object('idempotency_key', the_key),
        known.queue,
        ARRAY[rtrim(left(regexp_replace('dst-' || enqueue_bytes.destination, '[^A-Za-z0-9_-]', '-', 'g'), 60), '-')]
    );
    RETURN true;
END
$$;
