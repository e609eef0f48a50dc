-- One migration at a time per schema name. The key is derived from it.
SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.migrate', 0));
