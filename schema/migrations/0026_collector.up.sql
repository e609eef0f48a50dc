-- Which process reads what waits, for the metrics of all.
--
-- Locks: none, the table is new. Up builds the index effects_aside after the last
-- migration, concurrently.

-- It is written every ten seconds, and says nothing of a server that was restarted: it
-- needs no WAL.
CREATE UNLOGGED TABLE hooklatch.collector (
    one    boolean     NOT NULL DEFAULT true PRIMARY KEY,
    holder uuid        NOT NULL,
    until  timestamptz NOT NULL,
    CONSTRAINT only_one CHECK (one)
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.collector IS 'The process that has the lease to read what waits, for the metrics of all, and until when.';
