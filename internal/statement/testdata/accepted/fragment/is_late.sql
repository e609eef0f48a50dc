NOT {{is_due}} AND e.order_key = :order_key
