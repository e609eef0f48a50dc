-- One process at a time builds the index. The lock belongs to the session.
SELECT pg_try_advisory_lock(hashtextextended('hooklatch.wire_key', 0));
