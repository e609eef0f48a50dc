// Command till prints the total of three prices.
package main

import (
	"fmt"

	"example.com/shop"
)

func main() { fmt.Println(shop.Total(1, 2, 3)) }
