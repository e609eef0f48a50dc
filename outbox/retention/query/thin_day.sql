SELECT hooklatch.thin_day(:whole, :day, :numbers)
