-- The state of a run. The table has other words for the state of runs that older processes would
-- misread.
CASE state WHEN 'working' THEN 'running' WHEN 'resting' THEN 'paused' ELSE state END
