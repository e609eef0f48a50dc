-- Locks: ACCESS EXCLUSIVE on the table and the index that go.
DROP INDEX IF EXISTS hooklatch.effects_aside;
DROP TABLE hooklatch.collector;
