-- Bounds what runs inside the transaction of an effect by its lease.
SELECT
    set_config('statement_timeout', $1, true),
    set_config('lock_timeout', $1, true),
    set_config('idle_in_transaction_session_timeout', $1, true)
