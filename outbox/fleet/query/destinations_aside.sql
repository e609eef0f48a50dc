-- Returns the given destinations that have jobs set aside, and for each whether it is paused or
-- unknown.
SELECT a.destination, COALESCE(d.operator_paused OR d.breaker_state <> 'closed', true) AS paused
FROM :aside AS a (destination text, aside_queue text)
LEFT JOIN hooklatch.destinations AS d ON d.name = a.destination
WHERE EXISTS (
    SELECT
    FROM hooklatch.river_job AS j
    WHERE j.state = 'available'
        AND j.queue = a.aside_queue
)
