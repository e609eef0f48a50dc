-- True if the index of wire keys is complete. Postgres evaluates this once per statement.
(SELECT EXISTS (SELECT FROM pg_index AS i WHERE i.indexrelid = to_regclass('hooklatch.effects_wire_key') AND i.indisvalid))
