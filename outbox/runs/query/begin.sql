-- Stores a new run. Returns no row if the same request already started a run.
INSERT INTO hooklatch.replay_runs (name, action, filter, most, per_second, who, role, via, reason, request_id, total, newer, state)
VALUES (:name, :action, :filter, :most, :per_second, :who, :role, :via, :reason, :request_id, :total, :newer, CASE WHEN :newer THEN 'working' ELSE 'running' END)
ON CONFLICT (request_id) DO NOTHING
RETURNING id
