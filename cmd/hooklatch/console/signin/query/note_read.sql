-- Somebody saw what is written down whoever sees it.
INSERT INTO hooklatch.operator_log (who, role, via, action, target, affected, request_id)
VALUES (:who, :role, 'console', 'payload.read', :target, 0, :request_id)
