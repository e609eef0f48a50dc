INSERT INTO hooklatch.alert_mutes AS m (name, until, muted_by, reason)
VALUES (:name, now() + make_interval(secs => :mute_seconds), :muted_by, :reason)
ON CONFLICT (name) DO UPDATE
SET
    until = EXCLUDED.until,
    muted_by = EXCLUDED.muted_by,
    reason = EXCLUDED.reason
