-- Returns the firing alerts and the muted conditions. A muted condition is listed even if it does
-- not fire.
WITH muted AS (
    SELECT m.name, m.until, m.muted_by
    FROM hooklatch.alert_mutes AS m
    WHERE m.until > now()
)
SELECT
    COALESCE(s.name, muted.name) AS name, COALESCE(s.subject, '') AS subject, COALESCE(s.severity, ''), COALESCE(s.message, ''),
    COALESCE(s.command, ''), COALESCE(s.count, 0), COALESCE(s.since, s.began_at), s.told_at, COALESCE(s.times_told, 0),
    muted.until, COALESCE(muted.muted_by, '')
FROM hooklatch.alert_states AS s
FULL JOIN muted ON muted.name = s.name
ORDER BY name, subject
