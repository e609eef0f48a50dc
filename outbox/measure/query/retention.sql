-- The number of rows that retention deleted on the day of its last run, by kind and source, the
-- time since which retention has been waiting for an operator, and the time since which the export
-- has failed.
SELECT p.what, p.source, p.day_rows, p.stopped_since, p.export_failed_since
FROM hooklatch.retention_progress AS p
