-- What was said of servers is forgotten: a program of before starts at_most_once
-- effects on any.
DROP TABLE hooklatch.installation;
DROP FUNCTION hooklatch.this_server();
