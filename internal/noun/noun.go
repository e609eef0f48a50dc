// Package noun writes nouns with their numbers.
package noun

import "strconv"

// Counted returns a number with its noun, such as "1 event" or "2 events".
func Counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(int64(n), 10) + " " + what + "s"
}
