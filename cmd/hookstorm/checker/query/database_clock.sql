-- The database's clock, at this moment.
SELECT json_build_object('now', clock_timestamp())::text
