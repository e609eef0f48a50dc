-- Reads a slice of the effects that are old enough, oldest first. Deletes effects that have
-- ended and expired and whose event is deleted. Also deletes their rows in the tables that existed
-- before partitioning by day.
WITH looked AS MATERIALIZED (
    SELECT e.created_at, e.scope, e.key, e.generation, e.state, e.finished_at, e.source, e.event_id
    FROM hooklatch.effects AS e
    WHERE e.created_at >= :created_at
        AND e.created_at < :before
        AND (e.created_at, e.scope, e.key, e.generation) > (:created_at, :scope, :key, :generation)
    ORDER BY e.created_at, e.scope, e.key, e.generation
    LIMIT :look
), gone AS (
    DELETE FROM hooklatch.effects AS e
    USING (
        SELECT l.scope, l.key, l.generation, l.state, l.finished_at
        FROM looked AS l
        WHERE l.state IN ('done', 'failed', 'cancelled')
            AND COALESCE(l.finished_at, l.created_at) < :before
            AND NOT EXISTS (
                SELECT
                FROM hooklatch.processed_events AS p
                WHERE p.source = l.source
                    AND p.event_id = l.event_id
                OFFSET 0 -- forces one look-up for each row
            )
        ORDER BY l.scope COLLATE "C", l.key COLLATE "C", l.generation
    ) AS old
    WHERE e.scope = ANY (ARRAY[old.scope])
        AND e.key = old.key
        AND e.generation = old.generation
        AND e.state = old.state
        AND e.finished_at IS NOT DISTINCT FROM old.finished_at
    RETURNING e.scope, e.key, e.generation
), attempts AS (
    DELETE FROM hooklatch.effect_attempts AS a
    USING gone
    WHERE a.scope = ANY (ARRAY[gone.scope])
        AND a.key = gone.key
        AND a.generation = gone.generation
), transitions AS (
    DELETE FROM hooklatch.former_transitions AS t
    USING gone
    WHERE t.scope = ANY (ARRAY[gone.scope])
        AND t.key = gone.key
        AND t.generation = gone.generation
)
SELECT
    (SELECT count(*) FROM looked) AS looked,
    (SELECT count(*) FROM gone) AS gone,
    COALESCE(last.created_at, :created_at), COALESCE(last.scope, ''), COALESCE(last.key, ''), COALESCE(last.generation, 0)
FROM (SELECT) AS one
LEFT JOIN (
    SELECT *
    FROM looked
    ORDER BY created_at DESC, scope DESC, key DESC, generation DESC
    LIMIT 1
) AS last ON true
