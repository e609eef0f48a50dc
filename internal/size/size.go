// Package size reads and writes numbers of bytes, such as 64MiB.
package size

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes, written like 512, 900kB, 1MiB or 2GiB.
type Bytes int64

var units = []struct {
	name  string
	bytes int64
}{
	{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

var errSize = errors.New("is not a size; allowed: a whole number of bytes, or one with B, kB, MB, GB, KiB, MiB or GiB, like 1MiB")

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, factor := string(text), int64(1)
	for _, unit := range units {
		if n, ok := strings.CutSuffix(number, unit.name); ok {
			number, factor = strings.TrimSpace(n), unit.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return errSize
	}
	*b = Bytes(n * factor)
	return nil
}

// String returns the size as a whole number of the first unit that divides it: GiB, MiB, KiB, GB,
// MB or kB. A number without a unit is in bytes.
func (b Bytes) String() string {
	for _, unit := range units {
		if n := int64(b); n != 0 && n%unit.bytes == 0 {
			if unit.bytes == 1 {
				break
			}
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
