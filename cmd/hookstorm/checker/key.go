package checker

import "strconv"

// ownKeyLen is the length of the key that an effect has before it is rotated.
const ownKeyLen = len("hl_") + 40

// ownKey is the effect's own key for one that came over the wire.
func ownKey(wire string) string {
	own, _ := unrotated(wire)
	return own
}

// unrotated takes the number off that a rotation appends to a key.
func unrotated(wire string) (own string, rotation int) {
	if len(wire) <= ownKeyLen || wire[ownKeyLen] != '_' {
		return wire, 0
	}
	n, err := strconv.ParseInt(wire[ownKeyLen+1:], 10, 32)
	if err != nil || n < 0 {
		return wire, 0
	}
	return wire[:ownKeyLen], int(n)
}
