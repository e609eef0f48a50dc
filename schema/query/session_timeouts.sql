-- A role's or database's settings suit an application, not a session that builds an
-- index.
SELECT set_config('lock_timeout', :lock_timeout, false),
       set_config('statement_timeout', '0', false),
       set_config('default_transaction_read_only', 'off', false),
       set_config('default_transaction_isolation', 'read committed', false);
