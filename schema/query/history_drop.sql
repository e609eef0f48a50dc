DROP TABLE hooklatch.schema_migrations;
