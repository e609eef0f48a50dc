-- Replaces a day's manifest, unless another process has replaced it or taken the garbage. The
-- statement may be repeated. Files that only the former manifest lists become garbage. The new
-- begun_at makes the later statements of other processes fail.
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
    begun_at = GREATEST(clock_timestamp(), begun_at + interval '1 microsecond'),
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
    AND (manifest = :was AND begun_at = :begun_at OR manifest = :manifest)
