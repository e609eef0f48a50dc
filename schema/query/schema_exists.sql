SELECT to_regnamespace(:name) IS NOT NULL;
