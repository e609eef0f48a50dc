-- Adds the triggers of a moving source to one table.
SELECT hooklatch.begin_move(:source, :table_name)
