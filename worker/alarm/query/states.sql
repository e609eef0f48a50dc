-- Returns the states that the last turn stored. The column came is true if the last notification
-- was delivered.
SELECT
    s.name, s.subject, s.severity, s.message, s.command, s.count, s.since,
    s.began_at, s.seen_at, s.told_at, s.times_told, s.target, s.effect_key,
    COALESCE((
        SELECT e.state = 'done'
        FROM hooklatch.effects AS e
        WHERE e.scope = 'enqueue:' || split_part(s.effect_key, ' ', 1)
            AND e.key = s.effect_key
            AND e.generation = 1
    ), false) AS came
FROM hooklatch.alert_states AS s
ORDER BY s.name, s.subject
