SELECT temp_files
FROM pg_stat_database
WHERE datname = $1
