-- The state of a run. That of a newer one has other words in the table.
CASE state WHEN 'working' THEN 'running' WHEN 'resting' THEN 'paused' ELSE state END
