-- The state of a run. For runs that older processes would misread, the table has other words for
-- the state.
CASE state WHEN 'working' THEN 'running' WHEN 'resting' THEN 'paused' ELSE state END
