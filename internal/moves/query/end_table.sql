-- Drops the trigger that notes a source's rows in one table. The trigger that refuses the source's
-- events stays.
SELECT hooklatch.end_move(:source, :table_name)
