-- Opens a closed breaker. One that is open or half-open stays as it is.
UPDATE hooklatch.destinations
SET
    breaker_state = 'open',
    breaker_reason = :reason,
    opened_at = clock_timestamp(),
    probe_at = clock_timestamp() + make_interval(secs => :probe_seconds::float8),
    epoch = epoch + 1
WHERE name = :destination
    AND breaker_state = 'closed'
