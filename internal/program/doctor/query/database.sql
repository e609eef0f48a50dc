-- Identifies the database of a connection. Every role may run the query, even before the first
-- migration.
SELECT
    pg_postmaster_start_time() AS started_at,
    current_database()::text AS name,
    pg_is_in_recovery() AS in_recovery
