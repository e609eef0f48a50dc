SELECT sum(price) FROM items
