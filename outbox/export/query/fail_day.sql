-- Notes why the export of a day, or an erasure in it, failed. An alert and a metric report the
-- failure.
WITH noted AS (
    UPDATE hooklatch.retention_progress
    SET export_failed_since = COALESCE(export_failed_since, now())
    WHERE what = 'payloads'
)
UPDATE hooklatch.exported_days
SET
    failed_since = COALESCE(failed_since, now()),
    error = :error
WHERE day = :day
