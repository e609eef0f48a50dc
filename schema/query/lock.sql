-- One migration at a time per schema name, from which the key is derived.
SELECT pg_advisory_xact_lock(hashtextextended('hooklatch.migrate', 0));
