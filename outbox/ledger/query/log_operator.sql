-- What a person ordered, in the transaction that does it.
INSERT INTO hooklatch.operator_log (who, role, via, action, target, filter, reason, result, affected, request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
