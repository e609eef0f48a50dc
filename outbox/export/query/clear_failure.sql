-- Notes that the export of a day, and the erasures in it, succeed again.
WITH noted AS (
    UPDATE hooklatch.retention_progress
    SET export_failed_since = NULL
    WHERE what = 'payloads'
        AND export_failed_since IS NOT NULL
)
UPDATE hooklatch.exported_days
SET
    failed_since = NULL,
    error = ''
WHERE day = :day
