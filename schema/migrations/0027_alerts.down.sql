-- Locks: ACCESS EXCLUSIVE on the tables that go.
DROP TABLE hooklatch.alert_mutes;
DROP TABLE hooklatch.alert_states;
