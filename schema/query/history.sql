SELECT version, name, applied_at, checksum FROM hooklatch.schema_migrations ORDER BY version;
