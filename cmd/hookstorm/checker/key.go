package checker

import "strconv"

// ownKeyLen is the length of the key that an effect has before it is rotated.
const ownKeyLen = len("hl_") + 40

// ownKey is the effect's own key for one that came over the wire: a rotation
// appends its number.
func ownKey(wire string) string {
	if len(wire) <= ownKeyLen || wire[ownKeyLen] != '_' {
		return wire
	}
	if _, err := strconv.ParseUint(wire[ownKeyLen+1:], 10, 32); err != nil {
		return wire
	}
	return wire[:ownKeyLen]
}
