-- The state of a run. Runs that older processes would misread have other words for it in the
-- table.
CASE state WHEN 'working' THEN 'running' WHEN 'resting' THEN 'paused' ELSE state END
