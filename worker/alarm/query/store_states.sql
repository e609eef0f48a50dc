INSERT INTO hooklatch.alert_states (
    name, subject, severity, message, command, count, since, began_at, seen_at, told_at, times_told, target, effect_key
)
SELECT
    s.name, s.subject, s.severity, s.message, s.command, s.count, s.since, s.began_at, s.seen_at, s.told_at, s.times_told, s.target, s.effect_key
FROM :states AS s (
    name text, subject text, severity text, message text, command text, count bigint, since timestamptz,
    began_at timestamptz, seen_at timestamptz, told_at timestamptz, times_told integer, target integer, effect_key text
)
ON CONFLICT (name, subject) DO UPDATE
SET
    severity = EXCLUDED.severity,
    message = EXCLUDED.message,
    command = EXCLUDED.command,
    count = EXCLUDED.count,
    since = EXCLUDED.since,
    seen_at = EXCLUDED.seen_at,
    told_at = EXCLUDED.told_at,
    times_told = EXCLUDED.times_told,
    target = EXCLUDED.target,
    effect_key = EXCLUDED.effect_key
