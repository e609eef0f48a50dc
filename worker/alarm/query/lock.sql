-- Reports whether this transaction may decide, and returns the time. Only one process decides at a
-- time: a second process would send the same alerts again.
SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0)), now()
