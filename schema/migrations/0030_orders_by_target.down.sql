-- Locks: ACCESS EXCLUSIVE on operator_log, for a moment.
DROP INDEX hooklatch.operator_log_target;
