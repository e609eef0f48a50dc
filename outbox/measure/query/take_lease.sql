-- Takes or extends the lease, unless another process has it. If the stored lease ends more than a
-- minute after a lease granted now would end, the clock has been set back. The lease is then taken.
-- The minute allows for two simultaneous processes: the process whose transaction began first may
-- run this statement second.
INSERT INTO hooklatch.collector AS c (holder, until)
VALUES (:holder, now() + make_interval(secs => :lease_seconds))
ON CONFLICT (one) DO UPDATE
SET
    holder = EXCLUDED.holder,
    until = EXCLUDED.until
WHERE c.holder = EXCLUDED.holder
    OR c.until < now()
    OR c.until > EXCLUDED.until + make_interval(secs => 60)
