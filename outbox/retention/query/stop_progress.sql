-- Records that retention waits for an operator. A task that never ran gets the epoch as its
-- last run.
INSERT INTO hooklatch.retention_progress AS p (what, source, horizon, ran_at, stopped_since, stopped_at)
SELECT m.what, m.source, m.horizon, TIMESTAMPTZ 'epoch', now(), m.before
FROM :marked AS m (what text, source text, horizon timestamptz, before timestamptz)
ON CONFLICT (what, source) DO UPDATE
SET
    stopped_since = COALESCE(p.stopped_since, now()),
    stopped_at = EXCLUDED.stopped_at
