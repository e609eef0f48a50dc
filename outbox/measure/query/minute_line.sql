-- Each minute of the periods, whether any process counted anything in it (if :counted), and the
-- changes counted in it. A minute with several changes has several rows.
SELECT line.place, line.minute, counted.is_counted, COALESCE(change.what, ''), COALESCE(change.name, ''), COALESCE(change.n, 0)
FROM ({{minutes_charted}}) AS line
CROSS JOIN LATERAL (
    SELECT :counted::boolean AND EXISTS (
        SELECT
        FROM hooklatch.minutes AS c
        WHERE c.minute = line.minute
    ) AS is_counted
) AS counted
LEFT JOIN LATERAL (
    SELECT c.what, c.name, c.n
    FROM hooklatch.minutes AS c
    WHERE c.minute = line.minute
        AND c.kind = 'timeline'
    ORDER BY c.name, c.what
    LIMIT :changes
) AS change ON true
ORDER BY line.minute, change.name, change.what
