-- Opens a closed breaker, and returns its destination. A breaker that has closed since the failed
-- attempts began stays closed: until it opens again, its last success is the time when it closed.
-- An open or half-open breaker stays unchanged, except that its last success is updated.
WITH opened AS (
    UPDATE hooklatch.destinations
    SET
        breaker_state = 'open',
        breaker_reason = :reason,
        opened_at = clock_timestamp(),
        probe_at = clock_timestamp() + make_interval(secs => :probe_seconds::float8),
        succeeded_at = CASE WHEN :succeeded_seconds::float8 > 0 THEN {{succeeded}} ELSE succeeded_at END,
        epoch = epoch + 1
    WHERE name = :destination
        AND breaker_state = 'closed'
        AND NOT COALESCE(succeeded_at BETWEEN clock_timestamp() - make_interval(secs => :failing_seconds::float8) AND clock_timestamp(), false)
    RETURNING name
), noted AS (
    UPDATE hooklatch.destinations
    SET succeeded_at = {{succeeded}}
    WHERE name = :destination
        AND breaker_state <> 'closed'
        AND :succeeded_seconds::float8 > 0
)
SELECT name
FROM opened
