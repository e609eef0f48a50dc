-- Moves the watermarks of a pass, in the transaction that stores the pass's events. covered_until
-- does not move past an open redelivery of the list: from there on, the list is not known to be
-- complete.
UPDATE hooklatch.coverage AS c
SET
    -- LEAST ignores NULL: without the CASE, a NULL :covered_until would set the time of the open
    -- redelivery.
    covered_until = CASE WHEN :covered_until::timestamptz IS NULL THEN c.covered_until ELSE GREATEST(c.covered_until, LEAST(:covered_until::timestamptz, (
        SELECT r.happened_at
        FROM hooklatch.redeliveries AS r
        WHERE r.source = :source
            AND r.stream = :name
            AND r.ended_at IS NULL
        ORDER BY r.happened_at
        LIMIT 1
    ))) END,
    deep_until = GREATEST(c.deep_until, :deep_until::timestamptz),
    pass_until = :pass_until::timestamptz,
    page_token = :page_token,
    mark = :mark,
    -- A pass that makes progress renews its lease. A list that was made due meanwhile stays due.
    next_at = CASE WHEN c.next_at < c.lease_until THEN c.next_at ELSE GREATEST(c.next_at, now() + make_interval(secs => :lease_secs::float8)) END,
    lease_until = GREATEST(c.lease_until, now() + make_interval(secs => :lease_secs::float8))
WHERE c.source = :source
    AND c.stream = :name
    AND c.fence = :fence
