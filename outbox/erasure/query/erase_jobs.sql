-- Deletes, among the next :limit jobs, the jobs of erased events and effects. The jobs' work is
-- finished, but their rows may contain personal data. Returns the position after which the next
-- call continues, or NULL if no job is left.
WITH slice AS MATERIALIZED (
    SELECT j.id, j.kind, j.args
    FROM hooklatch.river_job AS j
    WHERE j.id > :after
    ORDER BY j.id
    LIMIT :limit
), doomed AS (
    SELECT slice.id
    FROM slice
    WHERE slice.kind = 'dispatch'
        AND (slice.args ->> 'source', slice.args ->> 'event_id') IN (
            SELECT e.source, e.event_id
            FROM :events AS e (source text, event_id text)
        )
    UNION ALL
    SELECT slice.id
    FROM slice
    WHERE slice.kind = 'effect'
        AND (slice.args ->> 'scope', slice.args ->> 'key', slice.args ->> 'generation') IN (
            SELECT e.scope, e.key, e.generation::text
            FROM :effects AS e (scope text, key text, generation integer)
        )
), deleted AS (
    DELETE FROM hooklatch.river_job AS j
    WHERE j.id = ANY (ARRAY(SELECT doomed.id FROM doomed ORDER BY doomed.id))
)
SELECT CASE WHEN count(*) = :limit THEN max(slice.id) END
FROM slice
