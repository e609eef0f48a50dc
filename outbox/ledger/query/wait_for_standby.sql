-- Makes the caller's transaction wait for the standby although it writes nothing. Its effect is stored,
-- but with synchronous replication the effect might not be on the standby yet.
SELECT pg_logical_emit_message(true, 'hooklatch.duplicate', '')
WHERE current_setting('synchronous_standby_names') <> ''
