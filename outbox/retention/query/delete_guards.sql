-- Reads a slice of a source's replay guards, in the order of seen_at. Deletes the guards that were
-- last seen before :before. Sets seen_at of the others to the time at which they were last seen, so
-- that they are kept for the full period after that time.
WITH looked AS MATERIALIZED (
    SELECT g.seen_at, g.source, g.hash, g.last_seen_at
    FROM hooklatch.replay_guards AS g
    WHERE g.seen_at >= :seen_at
        AND g.seen_at < :before
        AND g.source = :source
        AND (g.seen_at, g.hash) > (:seen_at, :hash)
    ORDER BY g.seen_at, g.hash
    LIMIT :look
), gone AS (
    DELETE FROM hooklatch.replay_guards AS g
    USING (SELECT source, hash FROM looked WHERE last_seen_at < :before ORDER BY hash) AS old
    WHERE g.source = ANY (ARRAY[old.source])
        AND g.hash = old.hash
        AND g.last_seen_at < :before
    RETURNING g.hash
), again AS (
    UPDATE hooklatch.replay_guards AS g
    SET seen_at = g.last_seen_at
    FROM (SELECT source, hash FROM looked WHERE last_seen_at >= :before ORDER BY hash) AS young
    WHERE g.source = ANY (ARRAY[young.source])
        AND g.hash = young.hash
)
SELECT
    (SELECT count(*) FROM looked) AS looked,
    (SELECT count(*) FROM gone) AS gone,
    COALESCE(last.seen_at, :seen_at), COALESCE(last.hash, :hash)
FROM (SELECT) AS one
LEFT JOIN (SELECT seen_at, hash FROM looked ORDER BY seen_at DESC, hash DESC LIMIT 1) AS last ON true
