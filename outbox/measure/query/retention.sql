-- The progress of retention, by kind and source: the number of rows deleted on the day of the last
-- run, and two times. Retention has been waiting for an operator since the first time, and the
-- export has failed since the second.
SELECT p.what, p.source, p.day_rows, p.stopped_since, p.export_failed_since
FROM hooklatch.retention_progress AS p
