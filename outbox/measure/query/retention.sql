-- Rows that retention deleted on the day it last ran, and where it waits for an operator.
SELECT p.what, p.source, p.day_rows, p.stopped_since
FROM hooklatch.retention_progress AS p
