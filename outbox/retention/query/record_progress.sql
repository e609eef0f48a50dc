-- Stores the progress of retention for one kind of rows. Deleted rows are counted by UTC day.
INSERT INTO hooklatch.retention_progress AS p (what, source, horizon, accept_seq, oldest, day, day_rows, day_bytes)
VALUES (:what, :source, :horizon, :accept_seq, :oldest, (now() AT TIME ZONE 'UTC')::date, :rows, :bytes)
ON CONFLICT (what, source) DO UPDATE
SET
    -- A horizon in the future was recorded under a wrong clock.
    horizon = CASE WHEN p.horizon > now() THEN EXCLUDED.horizon ELSE GREATEST(p.horizon, EXCLUDED.horizon) END,
    accept_seq = CASE WHEN p.what = 'imports' THEN EXCLUDED.accept_seq ELSE GREATEST(p.accept_seq, EXCLUDED.accept_seq) END,
    oldest = EXCLUDED.oldest,
    ran_at = now(),
    previous_rows = CASE WHEN p.day = EXCLUDED.day THEN p.previous_rows ELSE p.day_rows END,
    day_rows = CASE WHEN p.day = EXCLUDED.day THEN p.day_rows ELSE 0 END + EXCLUDED.day_rows,
    day_bytes = CASE WHEN p.day = EXCLUDED.day THEN p.day_bytes ELSE 0 END + EXCLUDED.day_bytes,
    day = EXCLUDED.day,
    stopped_since = NULL,
    stopped_at = NULL
