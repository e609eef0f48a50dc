-- Records the result of a pass, and the time of the next pass. The next pass begins immediately if
-- the list was made due meanwhile. A pass ends once: a retry after a lost COMMIT response changes
-- nothing, because a pass that has ended has no lease.
UPDATE hooklatch.coverage AS c
SET
    error = :error,
    failures = CASE WHEN :error = '' THEN 0 ELSE c.failures + 1 END,
    last_ok_at = CASE WHEN :error = '' THEN now() ELSE c.last_ok_at END,
    next_at = CASE WHEN c.next_at < c.lease_until THEN now() ELSE now() + make_interval(secs => :next_secs::float8) END,
    lease_until = '-infinity',
    retry_after = CASE WHEN :retry_after_secs::float8 > 0 THEN now() + make_interval(secs => :retry_after_secs::float8) ELSE c.retry_after END
WHERE c.source = :source
    AND c.stream = :name
    AND c.fence = :fence
    AND c.lease_until > '-infinity'
