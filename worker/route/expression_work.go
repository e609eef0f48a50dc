package route

import (
	"math/bits"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"go.yaml.in/yaml/v3"
)

// Weights in bytes of work. With these weights, 16 MiB of work takes any function at most about a
// tenth of a second, and a few times 16 MiB of memory.
const (
	valueWeight = 32 // per value, in addition to the bytes of a text
	// scanWeight divides the number of bytes that a function reads at memory speed.
	scanWeight = 16
	// patternWeight is the cost of compiling one character or instruction of a pattern.
	patternWeight = 4096
	// jsonWeight and yamlWeight are the costs of parsing one byte of a document.
	jsonWeight, yamlWeight = 24, 512
)

// workRule returns the work that a call will do. It may stop counting above limit.
type workRule func(args []ref.Val, limit int) int

// workOf returns the rule for a function, or nil if the function's work does not depend on its
// arguments' sizes. known is false for a function that is not listed here, for example after a CEL
// update: the rule then assumes that the function compares every value with every other value.
func workOf(function string) (rule workRule, known bool) {
	switch function {
	case "!_", "-_", "_%_", "_*_", "_/_", "_-_", "_<_", "_<=_", "_>_", "_>=_", "_&&_", "_||_", "_?_:_",
		"@not_strictly_false", "__not_strictly_false__", "_[_]", "_[?_]", "_?._", "size", "type", "dyn", "first", "last",
		"or", "orValue", "hasValue", "value", "optional.none", "optional.of", "optional.ofNonZeroValue", "optional.unwrap", "unwrapOpt",
		"math.abs", "math.bitAnd", "math.bitNot", "math.bitOr", "math.bitShiftLeft", "math.bitShiftRight", "math.bitXor",
		"math.ceil", "math.floor", "math.isFinite", "math.isInf", "math.isNaN", "math.round", "math.sign", "math.sqrt", "math.trunc",
		"startsWith", "endsWith":
		return nil, true
	case "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes",
		"getMonth", "getSeconds", "bool", "double", "duration", "int", "timestamp", "uint", "bytes", "string",
		"base64.decode", "base64.decodeUrl", "base64.encode", "base64.encodeUrl", "math.@max", "math.@min",
		"date", "money", "charAt", "lowerAscii", "upperAscii", "trim", "substring", "strings.quote":
		return linear(1), true
	case "json.encode", "format":
		return linear(4), true
	case "yaml.encode":
		return linear(yamlWeight / valueWeight), true
	case "flatten":
		return linear(2), true
	case "json.parse":
		return linear(jsonWeight), true
	case "yaml.parse":
		return yamlWork, true
	case "contains":
		return func(args []ref.Val, limit int) int {
			return (sizeOf(args[0], limit) + sizeOf(args[1], limit)) / scanWeight
		}, true
	case "_+_":
		return concatWork, true
	case "_==_", "_!=_":
		return equalWork, true
	case "@in", "_in_", "in":
		return memberWork, true
	case "indexOf", "lastIndexOf":
		// Both functions compare the searched text at every position.
		return func(args []ref.Val, limit int) int {
			return mul(sizeOf(args[0], limit), 2+textLen(args[1])/8)
		}, true
	case "split":
		return splitWork, true
	case "join":
		return joinWork, true
	case "replace":
		return replaceWork, true
	case "matches":
		return matchWork, true
	case "lists.range":
		return func(args []ref.Val, _ int) int {
			n, _ := args[0].(types.Int)
			return mul(int(max(n, 0)), valueWeight)
		}, true
	case "slice":
		return func(args []ref.Val, _ int) int { return mul(countOf(args[0]), valueWeight) }, true
	case "reverse":
		return func(args []ref.Val, limit int) int {
			if _, isText := args[0].(types.String); isText {
				return sizeOf(args[0], limit)
			}
			return mul(countOf(args[0]), valueWeight)
		}, true
	case "sort", "@sortByAssociatedKeys":
		return func(args []ref.Val, limit int) int {
			keys := args[len(args)-1]
			return mul(sizeOf(keys, limit), bits.Len(uint(countOf(keys))))
		}, true
	case "distinct":
		return func(args []ref.Val, limit int) int { return mul(sizeOf(args[0], limit), countOf(args[0])) / 2 }, true
	case "sets.contains", "sets.intersects", "sets.equivalent", "hasAll", "hasAny", "hasOnly", "hasExactly":
		return func(args []ref.Val, limit int) int {
			return mul(countOf(args[0]), sizeOf(args[1], limit)) + mul(countOf(args[1]), sizeOf(args[0], limit))
		}, true
	}
	return allWithAll, false
}

// linear returns the rule for functions that read their arguments once, and whose results are about
// as large as the arguments. weight is the work per byte.
func linear(weight int) workRule {
	return func(args []ref.Val, limit int) int {
		work := 0
		for _, arg := range args {
			work += mul(sizeOf(arg, limit), weight)
		}
		return work
	}
}

// yamlWork also counts the copies with which CEL replaces the aliases of a document.
func yamlWork(args []ref.Val, limit int) int {
	work := linear(yamlWeight)(args, limit)
	text, _ := args[0].(types.String)
	if work > limit || !strings.Contains(string(text), "*") {
		return work
	}
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil {
		return work // the call returns the same error
	}
	return work + mul(copiedSize(&document, map[*yaml.Node]int{}), jsonWeight)
}

// copiedSize weighs the copies that replace the aliases in a node. known contains the weights of
// the nodes to which aliases refer, with the aliases inside those nodes replaced.
func copiedSize(n *yaml.Node, known map[*yaml.Node]int) int {
	const most = 1 << 40
	if n.Kind == yaml.AliasNode {
		size, is := known[n.Alias]
		if !is {
			known[n.Alias] = most // until the size is known: a node that contains an alias of itself is endless
			size = min(most, plainSize(n.Alias)+copiedSize(n.Alias, known))
			known[n.Alias] = size
		}
		return size
	}
	size := 0
	for _, part := range n.Content {
		size = min(most, size+copiedSize(part, known))
	}
	return size
}

// plainSize weighs a node without the copies that replace its aliases.
func plainSize(n *yaml.Node) int {
	size := valueWeight + len(n.Value)
	for _, part := range n.Content {
		size += plainSize(part)
	}
	return size
}

func allWithAll(args []ref.Val, limit int) int {
	size := 0
	for _, arg := range args {
		size += sizeOf(arg, limit)
	}
	return mul(size, size)
}

// concatWork counts texts only: lists are joined without reading their elements.
func concatWork(args []ref.Val, limit int) int {
	switch args[0].(type) {
	case types.String, types.Bytes:
		return sizeOf(args[0], limit) + sizeOf(args[1], limit)
	}
	return 0
}

// equalWork depends on the smaller value: CEL detects a different kind or length immediately.
func equalWork(args []ref.Val, limit int) int {
	for _, arg := range args {
		switch arg.(type) {
		case types.String, types.Bytes:
			return min(textLen(args[0]), textLen(args[1])) / scanWeight
		case traits.Lister, traits.Mapper:
		default:
			return 0
		}
	}
	if countOf(args[0]) != countOf(args[1]) {
		return 0
	}
	small := sizeOf(args[0], limit)
	return mul(min(small, sizeOf(args[1], small)), 2)
}

func memberWork(args []ref.Val, limit int) int {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return sizeOf(args[0], limit) / scanWeight
	}
	return sizeOf(args[1], limit)
}

func splitWork(args []ref.Val, limit int) int {
	pieces := occurrences(args[0], args[1]) + 1
	if len(args) > 2 {
		pieces = atMost(pieces, args[2])
	}
	return sizeOf(args[0], limit) + mul(pieces, 2*valueWeight)
}

func joinWork(args []ref.Val, limit int) int {
	work := mul(sizeOf(args[0], limit), 2)
	if len(args) > 1 {
		work += mul(countOf(args[0]), textLen(args[1]))
	}
	return work
}

func replaceWork(args []ref.Val, limit int) int {
	places := occurrences(args[0], args[1])
	if len(args) > 3 {
		places = atMost(places, args[3])
	}
	return sizeOf(args[0], limit) + mul(places, valueWeight+textLen(args[2]))
}

// matchWork adds the work to compile the pattern and the work to match: each character is tried
// with each pattern state.
func matchWork(args []ref.Val, _ int) int {
	pattern, _ := args[1].(types.String)
	compile := mul(len(pattern), patternWeight)
	if compile > maxWork {
		return compile
	}
	size, err := patternSize(string(pattern))
	if err != nil {
		return compile // the call returns the same error
	}
	if compile = max(compile, mul(size, patternWeight)); compile > maxWork {
		return compile
	}
	states, err := types.RegexProgramSize(string(pattern))
	if err != nil {
		return compile
	}
	return compile + statesWork(states, args)
}

func statesWork(states int, args []ref.Val) int { return mul(states, 2*textLen(args[0])) }

// occurrences counts how often part occurs in text. An empty part occurs before each character and
// at the end.
func occurrences(text, part ref.Val) int {
	t, _ := text.(types.String)
	p, _ := part.(types.String)
	return strings.Count(string(t), string(p))
}

// atMost returns n, but at most the limit that the expression gives. A negative limit means no
// limit.
func atMost(n int, limit ref.Val) int {
	given, isInt := limit.(types.Int)
	if !isInt || given < 0 {
		return n
	}
	return min(n, int(given))
}

func textLen(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// countOf returns the number of elements, or 0 for a value without elements.
func countOf(v ref.Val) int {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		if sizer, ok := v.(traits.Sizer); ok {
			n, _ := sizer.Size().(types.Int)
			return int(n)
		}
	}
	return 0
}

// sizeOf weighs a value and everything in it. It stops above limit.
func sizeOf(v ref.Val, limit int) int {
	size := valueWeight + textLen(v)
	switch v := v.(type) {
	case traits.Mapper:
		for it := v.Iterator(); size <= limit && it.HasNext() == types.True; {
			key := it.Next()
			size += sizeOf(key, limit-size)
			if value, found := v.Find(key); found {
				size += sizeOf(value, limit-size)
			}
		}
	case traits.Lister:
		for it := v.Iterator(); size <= limit && it.HasNext() == types.True; {
			size += sizeOf(it.Next(), limit-size)
		}
	}
	return size
}

// mul multiplies numbers that are not negative. The result is at most 1<<50, far below an
// overflow.
func mul(a, b int) int {
	const most = 1 << 50
	if a == 0 || b == 0 {
		return 0
	}
	if a > most/b {
		return most
	}
	return a * b
}
