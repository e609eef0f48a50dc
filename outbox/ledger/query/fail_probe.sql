UPDATE hooklatch.destinations
SET
    breaker_state = 'open',
    breaker_reason = $2,
    probe_at = clock_timestamp() + make_interval(secs => $3::float8),
    epoch = epoch + 1
WHERE name = $1
    AND breaker_state = 'half_open'
