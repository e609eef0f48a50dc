-- Drops the triggers that note rows of a source in one table.
SELECT hooklatch.end_move(:source, :table_name)
