-- What a person ordered, in the transaction that does it.
INSERT INTO hooklatch.operator_log (who, role, via, action, target, filter, reason, result, affected, request_id, run_id)
VALUES (:who, :role, :via, :action, :target, :filter, :reason, :result, :affected, :request_id, :run_id)
