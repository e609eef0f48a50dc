-- Identifies the database of a connection.
SELECT
    s.system_id,
    current_database()::text AS name,
    pg_is_in_recovery() AS in_recovery
FROM hooklatch.this_server() AS s
