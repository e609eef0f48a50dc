-- Adds to one table the trigger that notes a moving source's rows. If the table is
-- processed_events, it also adds the trigger that refuses the source's events once the source is
-- fenced.
SELECT hooklatch.begin_move(:source, :table_name)
