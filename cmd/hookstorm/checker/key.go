package checker

import "strconv"

// ownKeyLen is the length of an effect's key before any rotation.
const ownKeyLen = len("hl_") + 40

// ownKey returns the effect's key before any rotation, given the key as sent.
func ownKey(wire string) string {
	own, _ := unrotated(wire)
	return own
}

// unrotated splits a key as sent into the key before any rotation and the number that the rotation
// appended. The number is 0 if the key was not rotated.
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
