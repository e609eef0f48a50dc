DROP TABLE hooklatch.sender_keys;
