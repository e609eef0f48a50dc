UPDATE hooklatch.destinations
SET
    breaker_state = 'closed',
    breaker_reason = '',
    opened_at = NULL,
    probe_at = NULL,
    succeeded_at = clock_timestamp(),
    epoch = epoch + 1
WHERE name = :destination
    AND breaker_state <> 'closed'
