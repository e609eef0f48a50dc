package column

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidateKey refuses values that a key column cannot hold, and values of more than limit bytes.
// Its error is a predicate such as "is empty": the caller writes the key's name before it.
func ValidateKey[T ~string](s T, limit int) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > limit:
		return fmt.Errorf("has %d bytes; at most %d are allowed", len(s), limit)
	case !utf8.ValidString(string(s)):
		return errors.New("is not valid UTF-8")
	case strings.ContainsRune(string(s), 0):
		return errors.New("contains a NUL character")
	}
	return nil
}
