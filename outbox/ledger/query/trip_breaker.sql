-- Opens a closed breaker. One that is open or half-open stays as it is.
UPDATE hooklatch.destinations
SET
    breaker_state = 'open',
    breaker_reason = $2,
    opened_at = clock_timestamp(),
    probe_at = clock_timestamp() + make_interval(secs => $3::float8),
    epoch = epoch + 1
WHERE name = $1
    AND breaker_state = 'closed'
