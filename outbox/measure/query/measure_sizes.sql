-- Records the current size of each Hooklatch table, with its partitions.
WITH parts AS (
    SELECT c.oid, COALESCE(pg_partition_root(c.oid)::oid, c.oid) AS root, c.reltuples
    FROM pg_class AS c
    WHERE c.relnamespace = 'hooklatch'::regnamespace
        AND c.relkind = 'r'
), measured AS (
    SELECT
        parts.root,
        -- reltuples is negative if the table was never vacuumed or analysed.
        sum(GREATEST(parts.reltuples, 0))::bigint AS rows,
        sum(pg_total_relation_size(parts.oid))::bigint AS bytes
    FROM parts
    GROUP BY parts.root
)
INSERT INTO hooklatch.sizes AS s (day, table_name, rows, bytes)
SELECT (now() AT TIME ZONE 'UTC')::date, c.relname, measured.rows, measured.bytes
FROM measured
JOIN pg_class AS c ON c.oid = measured.root
ON CONFLICT (day, table_name) DO UPDATE
SET
    rows = EXCLUDED.rows,
    bytes = EXCLUDED.bytes
