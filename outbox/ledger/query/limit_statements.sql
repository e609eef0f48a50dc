-- Limits the statements inside the transaction of an effect to its lease.
SELECT
    set_config('statement_timeout', :limit, true),
    set_config('lock_timeout', :limit, true),
    set_config('idle_in_transaction_session_timeout', :limit, true)
