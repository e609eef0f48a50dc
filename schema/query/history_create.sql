CREATE TABLE IF NOT EXISTS hooklatch.schema_migrations (
    version    integer     NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    checksum   text        NOT NULL
);
