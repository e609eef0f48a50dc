-- Adds to one table the trigger that notes a moving source's rows. In processed_events, a second
-- trigger refuses the source's events once it is fenced.
SELECT hooklatch.begin_move(:source, :table_name)
