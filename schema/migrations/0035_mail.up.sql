-- A mail that cannot be sent is refused when it is enqueued, in the transaction of the
-- application, and not when it is attempted.
--
-- A change of the functions' rows in the catalog: no table is locked.

-- Fails unless a body is the mail that a destination of kind email sends. It is volatile,
-- though it reads nothing: an immutable function is called while a statement is planned,
-- whatever its WHERE says.
CREATE FUNCTION hooklatch.check_mail(body jsonb) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    IF body IS NULL OR jsonb_typeof(body) <> 'object' THEN
        wrong := 'it is no object';
    ELSE
        SELECT format('it has an unknown member %s', quote_literal(m.name)) INTO wrong
        FROM jsonb_object_keys(body) AS m (name)
        WHERE m.name NOT IN ('to', 'subject', 'text', 'html')
        ORDER BY m.name
        LIMIT 1;
    END IF;
    IF wrong IS NULL THEN
        wrong := CASE
            WHEN jsonb_typeof(body -> 'to') IS DISTINCT FROM 'array' THEN 'to must be a list of 1 to 100 addresses'
            WHEN jsonb_array_length(body -> 'to') NOT BETWEEN 1 AND 100
                OR jsonb_path_exists(body, 'strict $.to[*] ? (@.type() != "string" || @ == "")') THEN 'to must be a list of 1 to 100 addresses'
            WHEN jsonb_typeof(body -> 'subject') IS DISTINCT FROM 'string' THEN 'subject must be a text'
            WHEN jsonb_typeof(COALESCE(body -> 'text', '""')) <> 'string' OR jsonb_typeof(COALESCE(body -> 'html', '""')) <> 'string' THEN 'text and html must be texts'
            WHEN COALESCE(body ->> 'text', '') = '' AND COALESCE(body ->> 'html', '') = '' THEN 'text and html are both empty'
        END;
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'enqueue: not a mail: %', wrong
            USING ERRCODE = 'invalid_parameter_value', HINT = 'A mail is {"to": ["ann@example.com"], "subject": "...", "text": "...", "html": "..."}.';
    END IF;
END
$$;

REVOKE ALL ON FUNCTION hooklatch.check_mail(jsonb) FROM PUBLIC;

CREATE OR REPLACE FUNCTION hooklatch.enqueue(destination text, key text, body jsonb, headers jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM hooklatch.check_mail(enqueue.body)
    FROM hooklatch.destinations AS d
    WHERE d.name = enqueue.destination
        AND d.kind = 'email';
    RETURN hooklatch.enqueue_bytes(enqueue.destination, enqueue.key, convert_to(enqueue.body::text, 'UTF8'), 'application/json', enqueue.headers);
END
$$;
