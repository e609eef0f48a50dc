INSERT INTO hooklatch.backfill_runs (source, stream, since, until, mode, requested_by)
VALUES (:source, :name, :since, :until, :mode, :requested_by)
RETURNING run_id, started_at
