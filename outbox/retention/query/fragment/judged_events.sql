-- Deletes the events in looked that are expired and not needed, and returns each event's fate.
judged AS (
    {{judgement}}
), gone AS (
    -- Rows are locked in key order, as everywhere else. Rows that changed since they were read
    -- stay.
    DELETE FROM hooklatch.processed_events AS p
    USING (
        SELECT source, event_id, outcome, generation
        FROM judged
        WHERE expired
            AND NOT needed
        ORDER BY source COLLATE "C", event_id COLLATE "C"
    ) AS old
    WHERE p.source = ANY (ARRAY[old.source])
        AND p.event_id = old.event_id
        AND p.outcome = old.outcome
        AND p.generation = old.generation
    RETURNING p.source, p.event_id, p.accept_seq
), unlinked AS (
    -- These links were written before the table links existed.
    DELETE FROM hooklatch.effect_events AS l
    USING gone
    WHERE l.source = ANY (ARRAY[gone.source])
        AND l.event_id = gone.event_id
)
SELECT
    j.accept_seq, j.source, j.received_at,
    CASE
        WHEN NOT j.member THEN 'other'
        WHEN NOT j.expired THEN 'young'
        WHEN gone.accept_seq IS NULL THEN 'kept'
        ELSE 'gone'
    END AS fate
FROM judged AS j
LEFT JOIN gone USING (accept_seq)
ORDER BY j.accept_seq
