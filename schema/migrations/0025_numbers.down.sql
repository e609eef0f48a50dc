-- Locks: ACCESS EXCLUSIVE on the tables that go.
DROP TABLE hooklatch.sizes;
DROP TABLE hooklatch.last_seen;
DROP TABLE hooklatch.hours;
DROP TABLE hooklatch.minutes;
