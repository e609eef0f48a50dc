-- The sources of all events, each found by one step through the primary key.
WITH RECURSIVE known AS (
    (
        SELECT p.source
        FROM hooklatch.processed_events AS p
        ORDER BY p.source
        LIMIT 1
    )
    UNION ALL
    SELECT following.source
    FROM known
    CROSS JOIN LATERAL (
        SELECT p.source
        FROM hooklatch.processed_events AS p
        WHERE p.source > known.source
        ORDER BY p.source
        LIMIT 1
    ) AS following
)
SELECT source
FROM known
