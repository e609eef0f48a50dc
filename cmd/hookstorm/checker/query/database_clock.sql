-- The current time of the database's clock.
SELECT json_build_object('now', clock_timestamp())::text
