-- The average row size of a table in bytes, including its indexes.
SELECT COALESCE(pg_total_relation_size(c.oid) / NULLIF(GREATEST(c.reltuples, 1)::float8, 0), 0)
FROM pg_class AS c
WHERE c.oid = to_regclass('hooklatch.' || :table::text)
