package route

import (
	"fmt"
	"regexp/syntax"
)

// maxPattern is the maximum size of a constant pattern of matches(), in instructions of the
// compiled program. Repeats multiply: (?:900 letters){1000} has 900,000 instructions, and takes
// half a second and 100 MB to compile.
const maxPattern = 16_384

// patternSize estimates a pattern's number of compiled instructions, without compiling it.
func patternSize(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("compile pattern: %w", err)
	}
	return sizeOfPattern(parsed), nil
}

func sizeOfPattern(p *syntax.Regexp) int {
	size := 1
	if p.Op == syntax.OpLiteral {
		size += len(p.Rune)
	}
	for _, sub := range p.Sub {
		size += sizeOfPattern(sub)
	}
	if p.Op == syntax.OpRepeat {
		size = mul(size, max(p.Min, p.Max)+1)
	}
	return size
}
