-- Lets one probe through, or takes over one that nobody ended in time. The
-- queue stays paused.
UPDATE hooklatch.destinations
SET
    breaker_state = 'half_open',
    probe_at = clock_timestamp() + make_interval(secs => $2::float8),
    epoch = epoch + 1
WHERE name = $1
    AND breaker_state <> 'closed'
    AND probe_at <= clock_timestamp()
    AND NOT operator_paused
