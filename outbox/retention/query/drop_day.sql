SELECT hooklatch.drop_day(:whole, :day)
