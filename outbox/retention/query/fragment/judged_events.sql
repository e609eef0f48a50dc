-- What becomes of the events in looked.
judged AS (
    {{judgement}}
), gone AS (
    -- In the order of keys, as everybody locks them. What changed since it was looked
    -- at stays.
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
    -- Links of before there was the table links.
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
