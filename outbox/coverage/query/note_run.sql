UPDATE hooklatch.backfill_runs
SET
    requests = :requests,
    listed = :listed,
    known = :known,
    missing = :missing,
    recovered = :recovered,
    asked = :asked,
    lost = :lost,
    filtered = :filtered,
    invalid = :invalid,
    altered = :altered,
    oldest = :oldest::timestamptz,
    newest = :newest::timestamptz,
    error = :error,
    ended_at = CASE WHEN :ended THEN now() END
WHERE run_id = :run_id
