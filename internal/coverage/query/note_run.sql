-- Records the counts of a pass so far, or its result. A run that the next pass has ended stays
-- ended.
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
    unlisted = :unlisted,
    unlisted_event = :unlisted_event,
    oldest = :oldest::timestamptz,
    newest = :newest::timestamptz,
    error = CASE WHEN :ended THEN :error ELSE error END,
    ended_at = CASE WHEN :ended THEN now() ELSE ended_at END
WHERE run_id = :run_id
