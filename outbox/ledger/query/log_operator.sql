-- Records an operator action, in the transaction that performs it.
INSERT INTO hooklatch.operator_log (who, role, via, action, target, filter, reason, result, affected, request_id, run_id)
VALUES (:who, :role, :via, :action, :target, :filter, :reason, :result, :affected, :request_id, :run_id)
