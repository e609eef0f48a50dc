-- The past days of a table, including detached days. A day whose detaching was interrupted is
-- pending.
SELECT
    d.day, i.inhrelid IS NOT NULL AS attached, COALESCE(i.inhdetachpending, false) AS pending,
    COALESCE(obj_description(d.oid, 'pg_class') = 'thin', false) AS thin,
    pg_has_role(d.relowner, 'USAGE') AS own,
    COALESCE(pg_total_relation_size(d.oid), 0) AS bytes, -- another run may have dropped it
    GREATEST(d.reltuples, 0)::bigint AS rows
FROM (
    SELECT c.oid, c.relowner, c.reltuples, to_date(right(c.relname, 8), 'YYYYMMDD') AS day
    FROM pg_class AS c
    WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('hooklatch.' || :whole::text))
        AND c.relkind = 'r'
        AND c.relname ~ ('^' || :whole || '_[0-9]{8}$')
) AS d
LEFT JOIN pg_inherits AS i ON i.inhrelid = d.oid
WHERE d.day < (now() AT TIME ZONE 'UTC')::date
ORDER BY d.day
