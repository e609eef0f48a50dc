SELECT hooklatch.make_delivery_partitions($1)
