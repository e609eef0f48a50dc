-- Counts duplicates on the rows they repeat, outside the path of the answer.
WITH noted AS (
    SELECT n.*
    FROM :noted AS n (source text, event_id text, duplicates bigint, body_differs boolean)
    ORDER BY n.source COLLATE "C", n.event_id COLLATE "C"
), locked AS (
    SELECT noted.*
    FROM noted
    CROSS JOIN LATERAL (
        SELECT
        FROM hooklatch.processed_events AS p
        WHERE p.source = noted.source
            AND p.event_id = noted.event_id
        FOR UPDATE
    ) AS stands
)
UPDATE hooklatch.processed_events AS p
SET
    duplicates = p.duplicates + locked.duplicates,
    last_duplicate_at = clock_timestamp(),
    body_differs = p.body_differs OR locked.body_differs
FROM locked
WHERE {{same_event}}
