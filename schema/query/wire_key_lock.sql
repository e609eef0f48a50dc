-- Lets one process at a time build the index. The lock belongs to the session.
SELECT pg_try_advisory_lock(hashtextextended('hooklatch.wire_key', 0));
