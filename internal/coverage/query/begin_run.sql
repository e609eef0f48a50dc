-- Records that a pass has begun. After a lost COMMIT response, :tried is the run that the earlier
-- try recorded, and no second run is added. Earlier passes over the list can no longer write, so
-- this statement ends their unfinished runs of the last seven days.
WITH tried AS (
    SELECT run_id, started_at
    FROM hooklatch.backfill_runs
    WHERE run_id = :tried
        AND source = :source
        AND stream = :name
        AND ended_at IS NULL
),
begun AS (
    INSERT INTO hooklatch.backfill_runs (source, stream, since, until, mode, requested_by)
    SELECT :source, :name, :since, :until, :mode, :requested_by
    WHERE NOT EXISTS (SELECT FROM tried)
    RETURNING run_id, started_at
),
lost AS (
    UPDATE hooklatch.backfill_runs
    SET
        ended_at = now(),
        error = 'its process was lost before the pass ended'
    WHERE source = :source
        AND stream = :name
        AND started_at > now() - interval '7 days'
        AND ended_at IS NULL
        AND run_id <> :tried
)
SELECT run_id, started_at
FROM tried
UNION ALL
SELECT run_id, started_at
FROM begun
