-- Lets one probe through, or takes over from a probe that did not end in time. The queue stays
-- paused. After a lost COMMIT response, the next try (:repeated) recognises its own probe by the
-- deadline (:until), and begins that probe again.
UPDATE hooklatch.destinations
SET
    breaker_state = 'half_open',
    probe_at = clock_timestamp() + make_interval(secs => :lease_seconds::float8),
    epoch = epoch + 1
WHERE name = :destination
    AND breaker_state <> 'closed'
    AND (probe_at <= clock_timestamp() OR (:repeated AND breaker_state = 'half_open' AND probe_at = :until))
    AND NOT operator_paused
RETURNING probe_at
