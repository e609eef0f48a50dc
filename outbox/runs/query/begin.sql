-- A run, as it begins.
INSERT INTO hooklatch.replay_runs (name, action, filter, most, per_second, who, role, via, reason, request_id, total, state)
VALUES (:name, :action, :filter, :most, :per_second, :who, :role, :via, :reason, :request_id, :total, :state)
RETURNING id
