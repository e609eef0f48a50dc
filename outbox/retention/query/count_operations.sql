SELECT count(*), 0
FROM hooklatch.operator_log
WHERE at < :before
