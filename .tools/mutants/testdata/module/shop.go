// Package shop provides the code that the mutants of the command's tests change.
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

// Discount returns the discount on a price. Its test checks no result.
func Discount(price int) int { return price / 10 }

// Last returns the largest number below a positive n.
func Last(n int) int {
	i := 0
	for i < n-1 {
		i++
	}
	return i
}
