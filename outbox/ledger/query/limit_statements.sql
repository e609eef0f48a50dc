-- Bounds what runs inside the transaction of an effect by its lease.
SELECT
    set_config('statement_timeout', :limit, true),
    set_config('lock_timeout', :limit, true),
    set_config('idle_in_transaction_session_timeout', :limit, true)
