-- One process decides at a time: a second one would send the same alerts again.
SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0)), now()
