-- Makes the time of the next probe of an open breaker now. One that is on its way stays.
UPDATE hooklatch.destinations
SET probe_at = clock_timestamp()
WHERE name = :destination
    AND breaker_state = 'open'
    AND probe_at > clock_timestamp()
