-- The same as minute_line with :counted true, but for hours.
SELECT line.place, line.hour, counted.is_counted, COALESCE(change.what, ''), COALESCE(change.name, ''), COALESCE(change.n, 0)
FROM ({{hours_charted}}) AS line
CROSS JOIN LATERAL (
    SELECT EXISTS (
        SELECT
        FROM hooklatch.hours AS c
        WHERE c.hour = line.hour
    ) AS is_counted
) AS counted
LEFT JOIN LATERAL (
    SELECT c.what, c.name, c.n
    FROM hooklatch.hours AS c
    WHERE c.hour = line.hour
        AND c.kind = 'timeline'
    ORDER BY c.name, c.what
    LIMIT :changes
) AS change ON true
ORDER BY line.hour, change.name, change.what
