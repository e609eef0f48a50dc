DELETE FROM hooklatch.schema_migrations WHERE version = :version;
