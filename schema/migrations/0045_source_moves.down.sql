-- Forgets moves of sources. A source that has moved is accepted in both cells afterwards.
--
-- Locks: ACCESS EXCLUSIVE on each table with triggers of a moving source, for the moment it takes to
-- drop them, and on the two tables.
DROP FUNCTION hooklatch.refuse_moved() CASCADE;
DROP FUNCTION hooklatch.note_moving() CASCADE;
DROP FUNCTION hooklatch.begin_move(text, text);
DROP FUNCTION hooklatch.end_move(text, text);
DROP FUNCTION hooklatch.moving_content(text, jsonb);
DROP TABLE hooklatch.moving_rows;
DROP TABLE hooklatch.source_moves;
