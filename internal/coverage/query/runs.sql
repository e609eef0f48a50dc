-- Returns the last passes over a source's lists, newest first.
SELECT
    run_id, source, stream, since, until, mode, requested_by, started_at, ended_at, requests, listed, known,
    missing, recovered, asked, lost, filtered, invalid, altered, unlisted, unlisted_event, oldest, newest, error
FROM hooklatch.backfill_runs
WHERE source = :source
ORDER BY started_at DESC, run_id DESC
LIMIT :most
