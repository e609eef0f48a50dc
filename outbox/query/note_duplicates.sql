-- Counts duplicates on the rows they repeat, outside the path of the answer.
WITH noted AS (
    SELECT n.*
    FROM :noted AS n (source text, event_id text, duplicates bigint, body_differs boolean)
), locked AS (
    SELECT p.source, p.event_id
    FROM hooklatch.processed_events AS p
    JOIN noted USING (source, event_id)
    ORDER BY p.source COLLATE "C", p.event_id COLLATE "C"
    FOR UPDATE OF p
)
UPDATE hooklatch.processed_events AS p
SET
    duplicates = p.duplicates + noted.duplicates,
    last_duplicate_at = clock_timestamp(),
    body_differs = p.body_differs OR noted.body_differs
FROM noted
JOIN locked USING (source, event_id)
WHERE p.source = noted.source
    AND p.event_id = noted.event_id
