-- True if the index of keys is built. Evaluated once.
(SELECT EXISTS (SELECT FROM pg_index AS i WHERE i.indexrelid = to_regclass('hooklatch.effects_wire_key') AND i.indisvalid))
