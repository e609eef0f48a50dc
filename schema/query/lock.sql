-- Allows one migration at a time per schema name. The key is derived from that name.
SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.migrate', 0));
