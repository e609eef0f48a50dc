-- Finds sequences that would return numbers that stored rows already have. Logical replication
-- copies rows, but not the positions of sequences.
WITH newest AS MATERIALIZED (
    -- The table effects has no index on effect_id, so only its newest rows are searched for the
    -- highest number.
    SELECT e.effect_id
    FROM hooklatch.effects AS e
    ORDER BY e.created_at DESC
    LIMIT 1000
)
SELECT count(*) OVER () AS total, s.name || ' is at ' || s.last || ', and the rows are at ' || s.highest AS violation
FROM (
    SELECT
        s.name, s.highest,
        CASE WHEN has_sequence_privilege(s.name, 'USAGE, SELECT') THEN COALESCE(pg_sequence_last_value(s.name::regclass), 0) END AS last
    FROM (
        SELECT 'hooklatch.accept_seq' AS name, (SELECT max(p.accept_seq) FROM hooklatch.processed_events AS p) AS highest
        UNION ALL
        SELECT 'hooklatch.effect_id', (SELECT max(e.effect_id) FROM newest AS e)
        UNION ALL
        SELECT 'hooklatch.river_job_id_seq', (SELECT max(j.id) FROM hooklatch.river_job AS j)
    ) AS s
) AS s
WHERE s.highest > s.last
LIMIT :limit
