-- The sizes of the tables at the last measurement, and a week earlier, or at the earliest
-- measurement within that week.
SELECT s.table_name, s.rows, s.bytes, earlier.bytes AS bytes_before, s.day - earlier.day AS days
FROM hooklatch.sizes AS s
LEFT JOIN LATERAL (
    SELECT e.bytes, e.day
    FROM hooklatch.sizes AS e
    WHERE e.table_name = s.table_name
        AND e.day >= s.day - 7
        AND e.day < s.day
    ORDER BY e.day
    LIMIT 1
) AS earlier ON true
WHERE s.day = (
    SELECT latest.day
    FROM hooklatch.sizes AS latest
    ORDER BY latest.day DESC
    LIMIT 1
)
