SELECT hooklatch.make_delivery_partitions(:days_ahead)
