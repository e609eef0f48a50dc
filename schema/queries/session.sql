-- Set after the lock is held: waiting for another migration may take longer. A
-- migration that waits for a busy table makes everybody else wait behind it.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = '5min';
