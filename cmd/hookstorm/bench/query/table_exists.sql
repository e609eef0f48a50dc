SELECT EXISTS (
    SELECT
    FROM pg_class
    WHERE oid = to_regclass('hooklatch.' || $1)
        AND relkind IN ('r', 'p')
)
