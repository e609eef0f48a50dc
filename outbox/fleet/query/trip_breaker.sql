-- Opens a closed breaker. An open or half-open breaker stays unchanged.
UPDATE hooklatch.destinations
SET
    breaker_state = 'open',
    breaker_reason = :reason,
    opened_at = clock_timestamp(),
    probe_at = clock_timestamp() + make_interval(secs => :probe_seconds::float8),
    epoch = epoch + 1
WHERE name = :destination
    AND breaker_state = 'closed'
