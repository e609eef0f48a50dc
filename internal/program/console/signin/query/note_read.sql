-- Records that a user viewed or searched payloads. An open page may load the payload repeatedly, so
-- each user and target is recorded at most once an hour.
INSERT INTO hooklatch.operator_log (who, role, via, action, target, affected, request_id)
SELECT :who, :role, 'console', 'payload.read', :target, 0, :request_id
WHERE NOT EXISTS (
    SELECT
    FROM hooklatch.operator_log AS l
    WHERE l.at > now() - interval '1 hour'
        AND l.action = 'payload.read'
        AND l.who = :who
        AND l.target = :target
)
