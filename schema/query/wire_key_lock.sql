-- Lets one process at a time build indexes. The lock belongs to the session.
SELECT pg_try_advisory_lock(hashtextextended('hooklatch.wire_key', 0));
