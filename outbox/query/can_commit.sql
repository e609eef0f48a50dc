-- Writes a WAL message, which a standby or a stuck server cannot do. It also returns whether the
-- server is read-only, and for how many days ahead delivery partitions exist.
SELECT
    current_setting('transaction_read_only') = 'on' OR pg_is_in_recovery() AS read_only,
    hooklatch.delivery_days_ahead() AS days_ahead,
    pg_logical_emit_message(true, 'hooklatch.can_commit', '') IS NOT NULL AS written
