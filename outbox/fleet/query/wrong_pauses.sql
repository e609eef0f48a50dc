-- Returns the destinations whose River queue has the wrong pause state.
SELECT d.name
FROM hooklatch.destinations AS d
LEFT JOIN hooklatch.river_queue AS q ON q.name = d.queue
WHERE (q.paused_at IS NOT NULL) <> (
    {{pauses_its_queue}}
)
ORDER BY d.name COLLATE "C"
