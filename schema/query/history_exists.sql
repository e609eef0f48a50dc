SELECT to_regclass('hooklatch.schema_migrations') IS NOT NULL;
