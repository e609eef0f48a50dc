-- The last passes over the lists of a source, the newest first.
SELECT
    run_id, source, stream, since, until, mode, requested_by, started_at, ended_at, requests, listed, known,
    missing, recovered, asked, lost, filtered, invalid, altered, oldest, newest, error
FROM hooklatch.backfill_runs
WHERE source = :source
    AND (NOT :found OR missing + recovered + lost + invalid > 0)
ORDER BY run_id DESC
LIMIT :most
