UPDATE hooklatch.destinations
SET
    breaker_state = 'open',
    breaker_reason = :reason,
    probe_at = clock_timestamp() + make_interval(secs => :probe_seconds::float8),
    epoch = epoch + 1
WHERE name = :destination
    AND breaker_state = 'half_open'
