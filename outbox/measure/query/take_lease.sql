-- Takes the lease, or prolongs it, unless another process has it. A lease that ends a
-- minute later than one given now was given by a clock that has been set back since. The
-- minute is for two processes that ask at once: the one whose transaction began first
-- may be the second to get here.
INSERT INTO hooklatch.collector AS c (holder, until)
VALUES (:holder, now() + make_interval(secs => :lease_seconds))
ON CONFLICT (one) DO UPDATE
SET
    holder = EXCLUDED.holder,
    until = EXCLUDED.until
WHERE c.holder = EXCLUDED.holder
    OR c.until < now()
    OR c.until > EXCLUDED.until + make_interval(secs => 60)
