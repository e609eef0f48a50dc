-- Makes the caller's transaction wait for the standby although it writes nothing. The rows that the
-- transaction found are stored, but with synchronous replication they might not be on the standby
-- yet.
SELECT pg_logical_emit_message(true, 'hooklatch.duplicate', '')
WHERE current_setting('synchronous_standby_names') <> ''
