-- Rows that retention deleted on the day of its last run, and the kinds for which it waits for an
-- operator or an export.
SELECT p.what, p.source, p.day_rows, p.stopped_since, p.export_failed_since
FROM hooklatch.retention_progress AS p
