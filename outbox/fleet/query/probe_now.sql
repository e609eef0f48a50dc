-- Makes the next probe of an open breaker due now. A running probe is left unchanged.
UPDATE hooklatch.destinations
SET probe_at = clock_timestamp()
WHERE name = :destination
    AND breaker_state = 'open'
    AND probe_at > clock_timestamp()
