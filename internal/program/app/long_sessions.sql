-- Counts the sessions that have been in one transaction or statement for more than the given number
-- of seconds. They wait for a lock, or run statements of an application. Only sessions of this
-- program, user and machine in this database are counted.
SELECT count(*)
FROM pg_stat_activity AS a
WHERE a.datname = current_database()
    AND a.usename = session_user
    AND a.application_name = current_setting('application_name')
    AND a.client_addr IS NOT DISTINCT FROM inet_client_addr()
    AND a.state <> 'idle'
    AND COALESCE(a.xact_start, a.query_start) < clock_timestamp() - make_interval(secs => $1)
