-- Takes the lease, or prolongs it, unless another process has it. A lease that ends
-- later than any can was given by a clock that has been set back since.
INSERT INTO hooklatch.collector AS c (holder, until)
VALUES (:holder, now() + make_interval(secs => :lease_seconds))
ON CONFLICT (one) DO UPDATE
SET
    holder = EXCLUDED.holder,
    until = EXCLUDED.until
WHERE c.holder = EXCLUDED.holder
    OR c.until < now()
    OR c.until > EXCLUDED.until
