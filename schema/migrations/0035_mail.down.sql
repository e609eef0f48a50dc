-- A change of the functions' rows in the catalog: no table is locked.

CREATE OR REPLACE FUNCTION hooklatch.enqueue(destination text, key text, body jsonb, headers jsonb DEFAULT NULL) RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT hooklatch.enqueue_bytes(destination, key, convert_to(body::text, 'UTF8'), 'application/json', headers)
$$;

DROP FUNCTION hooklatch.check_mail(jsonb);
