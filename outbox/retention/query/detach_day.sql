SELECT hooklatch.detach_day(:whole, :day)
