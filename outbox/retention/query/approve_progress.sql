-- Records that an operator allows retention to continue up to the given times.
INSERT INTO hooklatch.retention_progress AS p (what, source, horizon, ran_at, approved)
SELECT m.what, m.source, m.horizon, TIMESTAMPTZ 'epoch', m.before
FROM :marked AS m (what text, source text, horizon timestamptz, before timestamptz)
ON CONFLICT (what, source) DO UPDATE
SET
    approved = EXCLUDED.approved,
    stopped_since = NULL,
    stopped_at = NULL
