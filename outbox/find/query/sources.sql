-- Returns the sources that have events. Each source takes one step through the primary key.
WITH RECURSIVE known AS (
    SELECT min(p.source) AS source
    FROM hooklatch.processed_events AS p
    UNION ALL
    SELECT (
        SELECT min(p.source)
        FROM hooklatch.processed_events AS p
        WHERE p.source > known.source
    )
    FROM known
    WHERE known.source IS NOT NULL
)
SELECT source
FROM known
WHERE source IS NOT NULL
