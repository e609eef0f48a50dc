-- Where the events begin that were received at a time or later. Those that were imported
-- have places below 1 and times of their own.
WITH RECURSIVE {{event_span}}
SELECT low
FROM span
WHERE low >= high
LIMIT 1
