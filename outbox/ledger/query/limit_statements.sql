-- Limits each statement, each wait for a lock and each pause in an effect's transaction to the
-- duration of the effect's lease.
SELECT
    set_config('statement_timeout', :limit, true),
    set_config('lock_timeout', :limit, true),
    set_config('idle_in_transaction_session_timeout', :limit, true)
