-- Counts duplicates on the rows of the events that they repeat, and keeps the times of the last
-- duplicates. Returns overtaken as true for an event that a backfill fetched, if its webhook is
-- among the first duplicates that are counted.
WITH noted AS (
    SELECT n.*
    FROM :noted AS n (source text, event_id text, duplicates bigint, body_differs boolean, webhook boolean, seconds_ago text)
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
), came AS (
    SELECT locked.*, ARRAY (
            SELECT clock_timestamp() - make_interval(secs => ago::double precision)
            FROM unnest(string_to_array(locked.seconds_ago, ' ')) AS ago
        ) AS times
    FROM locked
)
UPDATE hooklatch.processed_events AS p
SET
    duplicates = p.duplicates + came.duplicates,
    last_duplicate_at = GREATEST(p.last_duplicate_at, (SELECT max(at) FROM unnest(came.times) AS at)),
    duplicate_times = ARRAY (
        SELECT at
        FROM (
            SELECT at
            FROM unnest(p.duplicate_times || came.times) AS at
            ORDER BY at DESC
            LIMIT :kept
        ) AS last
        ORDER BY at
    ),
    body_differs = p.body_differs OR came.body_differs
FROM came
WHERE {{same_event locked=came}}
RETURNING p.source, came.webhook AND p.origin = 'backfill' AND p.duplicates = came.duplicates AS overtaken
