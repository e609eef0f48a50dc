-- Replaces a day's manifest, unless another process has replaced it. The statement may be repeated.
-- Files that only the former manifest lists become garbage.
WITH noted AS (
    UPDATE hooklatch.retention_progress
    SET export_failed_since = NULL
    WHERE what = 'payloads'
        AND export_failed_since IS NOT NULL
)
UPDATE hooklatch.exported_days
SET
    manifest = :manifest,
    manifest_sha256 = :sha256,
    parts = '[]',
    garbage = (
        SELECT COALESCE(array_agg(DISTINCT g), '{}')
        FROM unnest(garbage || :former::text[]) AS g
        WHERE NOT g = ANY (:names::text[])
    ),
    deliveries = :deliveries,
    events = :events,
    bytes = :bytes,
    exported_at = COALESCE(exported_at, now()),
    failed_since = NULL,
    error = ''
WHERE day = :day
    AND manifest IN (:was, :manifest)
