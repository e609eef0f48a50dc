-- Takes or extends the lease, unless another process has it. A lease that ends a minute later
-- than one granted now was granted by a clock that has since been set back. The minute allows
-- for two processes that ask simultaneously: the one whose transaction began first may get here
-- second.
INSERT INTO hooklatch.collector AS c (holder, until)
VALUES (:holder, now() + make_interval(secs => :lease_seconds))
ON CONFLICT (one) DO UPDATE
SET
    holder = EXCLUDED.holder,
    until = EXCLUDED.until
WHERE c.holder = EXCLUDED.holder
    OR c.until < now()
    OR c.until > EXCLUDED.until + make_interval(secs => 60)
