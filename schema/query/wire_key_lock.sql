-- One process at a time builds the index. The lock is the session's.
SELECT pg_try_advisory_lock(hashtextextended('hooklatch.wire_key', 0));
