-- The application's own outbox, from any language: effects committed with its
-- own writes by plain SQL. The functions run with the rights of their owner, so
-- an application needs USAGE on the schema and EXECUTE on them, and no table.

-- The key of an effect on the wire, as EffectID.IdempotencyKey of package outbox
-- makes it.
CREATE FUNCTION hooklatch.idempotency_key(scope text, key text, generation integer) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'hl_' || left(encode(sha256(
        int8send(octet_length(s)::bigint) || s || int8send(octet_length(k)::bigint) || k || int8send(generation::bigint)
    ), 'hex'), 40)
    FROM (SELECT convert_to(scope, 'UTF8') AS s, convert_to(key, 'UTF8') AS k) AS part
$$;

-- Headers as the ledger keeps them: every name with a list of values. A single
-- value may be given as a string.
CREATE FUNCTION hooklatch.effect_headers(headers jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name   text;
    value  jsonb;
    result jsonb := '{}';
BEGIN
    IF headers IS NULL OR headers = 'null' THEN
        RETURN '{}';
    END IF;
    IF jsonb_typeof(headers) <> 'object' THEN
        RAISE EXCEPTION 'enqueue: headers must be a JSON object, not %', jsonb_typeof(headers)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR name, value IN SELECT * FROM jsonb_each(headers) LOOP
        IF jsonb_typeof(value) = 'string' THEN
            value := jsonb_build_array(value);
        END IF;
        IF jsonb_typeof(value) <> 'array' OR jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")') THEN
            RAISE EXCEPTION 'enqueue: header % must be a string or a list of strings', quote_literal(name)
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        result := result || jsonb_build_object(name, value);
    END LOOP;
    RETURN result;
END
$$;

-- Enqueues an effect with a body of any bytes. True: it is new, and exists
-- exactly if the transaction commits. False: the key was used before for this
-- destination.
--
-- The job is inserted by plain SQL, as River documents it, without NOTIFY: that
-- would make the commits of the application wait for each other.
CREATE FUNCTION hooklatch.enqueue_bytes(
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

-- The same for a JSON body.
CREATE FUNCTION hooklatch.enqueue(destination text, key text, body jsonb, headers jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT hooklatch.enqueue_bytes(destination, key, convert_to(body::text, 'UTF8'), 'application/json', headers)
$$;

COMMENT ON FUNCTION hooklatch.enqueue(text, text, jsonb, jsonb) IS 'Enqueues an effect with a JSON body, committed with the caller''s transaction. False: the key was used before.';
COMMENT ON FUNCTION hooklatch.enqueue_bytes(text, text, bytea, text, jsonb) IS 'Enqueues an effect with a body of any bytes, committed with the caller''s transaction. False: the key was used before.';

-- Whoever may call them makes calls in our name: the owner says who.
REVOKE ALL ON FUNCTION hooklatch.enqueue(text, text, jsonb, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.enqueue_bytes(text, text, bytea, text, jsonb) FROM PUBLIC;
