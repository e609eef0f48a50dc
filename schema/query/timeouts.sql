SELECT set_config('lock_timeout', :lock_timeout, true),
       set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '300000', true);
