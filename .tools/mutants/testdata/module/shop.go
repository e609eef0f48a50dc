// Package shop is changed by the command's tests.
package shop

import _ "embed"

//go:embed query/total.sql
var totalSQL string

// Total adds prices up.
func Total(prices ...int) int {
	total := 0
	for _, price := range prices {
		total += price
	}
	return total
}

// Discount is not tested.
func Discount(price int) int { return price / 10 }

// Last is the last number below n.
func Last(n int) int {
	i := 0
	for i < n-1 {
		i++
	}
	return i
}
