SELECT EXISTS (SELECT FROM hooklatch.exported_days)
