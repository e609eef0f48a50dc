SELECT hooklatch.keep_deliveries(:day, :events)
