SELECT pg_advisory_unlock(hashtextextended('hooklatch.wire_key', 0));
