-- Locks: ACCESS EXCLUSIVE on delivery_copies, which is dropped.
DROP FUNCTION hooklatch.copies_of_event(text, text);
DROP TABLE hooklatch.delivery_copies;
