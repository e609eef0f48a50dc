DROP TABLE IF EXISTS hooklatch.schema_migrations;
