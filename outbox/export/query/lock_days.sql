-- Waits for the erasures that have not seen the first exported day.
LOCK TABLE hooklatch.exported_days IN ACCESS EXCLUSIVE MODE
