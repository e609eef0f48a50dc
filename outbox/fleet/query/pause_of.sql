-- Returns the required and the current pause state of a destination's queue.
SELECT
    d.queue,
    {{pauses_its_queue}} AS pause,
    EXISTS (
        SELECT
        FROM hooklatch.river_queue AS q
        WHERE q.name = d.queue
            AND q.paused_at IS NOT NULL
    ) AS is_paused
FROM hooklatch.destinations AS d
WHERE d.name = :destination
