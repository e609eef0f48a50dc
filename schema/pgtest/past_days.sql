-- Returns statements that create the partitions of the last $1 UTC days before today, for each
-- table that is partitioned by day. A table with a partition for all days before its first
-- migration needs none.
SELECT format(
    'CREATE TABLE IF NOT EXISTS %1$s PARTITION OF %2$s FOR VALUES FROM (%3$L) TO (%4$L); ALTER TABLE %1$s REPLICA IDENTITY %5$s',
    whole || '_' || to_char(day, 'YYYYMMDD'), whole, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC',
    CASE relreplident WHEN 'f' THEN 'FULL' ELSE 'DEFAULT' END)
FROM (
    SELECT partrelid::regclass::text AS whole, relreplident
    FROM pg_partitioned_table
    JOIN pg_class AS c ON c.oid = partrelid
    WHERE relnamespace = 'hooklatch'::regnamespace AND to_regclass('hooklatch.' || relname || '_past') IS NULL
) AS wholes
CROSS JOIN (
    SELECT (now() AT TIME ZONE 'UTC')::date - ago AS day
    FROM generate_series(1, $1::integer) AS ago
) AS days
