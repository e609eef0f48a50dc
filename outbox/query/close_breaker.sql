UPDATE hooklatch.destinations
SET
    breaker_state = 'closed',
    breaker_reason = '',
    opened_at = NULL,
    probe_at = NULL,
    epoch = epoch + 1
WHERE name = $1
    AND breaker_state <> 'closed'
