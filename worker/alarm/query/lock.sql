-- One process decides at a time: another one would tell the same again.
SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0)), now()
