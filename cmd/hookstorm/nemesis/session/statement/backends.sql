SELECT
    pid,
    application_name,
    COALESCE(state, ''),
    left(regexp_replace(query, '\s+', ' ', 'g'), 60) AS query
FROM pg_stat_activity
WHERE datname = current_database()
    AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()
    AND ($1::integer[] IS NULL OR pid = ANY ($1))
    AND ($1::integer[] IS NOT NULL OR application_name <> COALESCE(NULLIF($3, ''), 'hookstorm'))
    AND (NOT $2 OR state = 'active')
ORDER BY pid
