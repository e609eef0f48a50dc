SELECT
    what, source, horizon, ran_at, oldest, NULLIF(day, '-infinity'), day_rows, day_bytes, previous_rows,
    stopped_since, stopped_at, accept_seq, approved
FROM hooklatch.retention_progress
ORDER BY what, source
