-- Waits for erasures that began before the first exported day existed and therefore noted nothing.
LOCK TABLE hooklatch.exported_days IN ACCESS EXCLUSIVE MODE
