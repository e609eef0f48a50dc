-- Makes the caller's transaction wait for the standby although it writes nothing. What it found is
-- stored, but with synchronous replication it might not be on the standby yet.
SELECT pg_logical_emit_message(true, 'hooklatch.duplicate', '')
WHERE current_setting('synchronous_standby_names') <> ''
