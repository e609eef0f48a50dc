DROP INDEX CONCURRENTLY IF EXISTS hooklatch.effects_wire_key;
