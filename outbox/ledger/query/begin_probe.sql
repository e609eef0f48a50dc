-- Lets one probe through, or takes over one that nobody ended in time. The
-- queue stays paused. A try after a lost COMMIT answer ($4) knows its own probe by
-- the end of its time ($3), and gets it again.
UPDATE hooklatch.destinations
SET
    breaker_state = 'half_open',
    probe_at = clock_timestamp() + make_interval(secs => $2::float8),
    epoch = epoch + 1
WHERE name = $1
    AND breaker_state <> 'closed'
    AND (probe_at <= clock_timestamp() OR ($4 AND breaker_state = 'half_open' AND probe_at = $3))
    AND NOT operator_paused
RETURNING probe_at
