package route

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxRendered limits the size of one rendered template or JSON value, in bytes.
const maxRendered = 4 << 20

var errTooLarge = fmt.Errorf("is larger than %d bytes", maxRendered)

// encodeJSON encodes a CEL value as JSON: integers exactly, keys sorted, bytes as base64, times
// as RFC 3339, durations as text in seconds, such as "90s". CEL's own conversion turns integers
// into doubles, or into strings.
func encodeJSON(value ref.Val) ([]byte, error) { return appendJSON(nil, value) }

func appendJSON(out []byte, value ref.Val) ([]byte, error) {
	if len(out) > maxRendered {
		return nil, errTooLarge
	}
	switch v := value.(type) {
	case types.Null:
		return append(out, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(out, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(out, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(out, uint64(v), 10), nil
	case types.Double:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return nil, errors.New("contains a number that is out of range")
		}
		if v == 0 {
			v = 0 // without a minus sign: -0 would be read back as an integer
		}
		return appendPlain(out, float64(v))
	case types.String:
		return appendPlain(out, string(v))
	case types.Bytes:
		return appendPlain(out, base64.StdEncoding.EncodeToString(v))
	case types.Timestamp:
		return appendPlain(out, v.Time.UTC().Format(time.RFC3339Nano))
	case types.Duration:
		return appendPlain(out, fmt.Sprint(v.ConvertToType(types.StringType).Value()))
	case *types.Optional:
		if !v.HasValue() {
			return append(out, "null"...), nil
		}
		return appendJSON(out, v.GetValue())
	case traits.Mapper:
		return appendObject(out, v)
	case traits.Lister:
		return appendArray(out, v)
	}
	if view, ok := value.Value().(*eventView); ok {
		return appendPlain(out, view)
	}
	return nil, fmt.Errorf("contains %s, which has no JSON form", value.Type().TypeName())
}

func appendObject(out []byte, object traits.Mapper) ([]byte, error) {
	members := map[string]ref.Val{}
	for it := object.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := scalarText(key)
		if !ok {
			return nil, fmt.Errorf("contains a map key of type %s", key.Type().TypeName())
		}
		members[name] = object.Get(key)
	}
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendPlain(out, name); err != nil {
			return nil, err
		}
		out = append(out, ':')
		if out, err = appendJSON(out, members[name]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func appendArray(out []byte, array traits.Lister) ([]byte, error) {
	out = append(out, '[')
	first := true
	for it := array.Iterator(); it.HasNext() == types.True; {
		if !first {
			out = append(out, ',')
		}
		first = false
		var err error
		if out, err = appendJSON(out, it.Next()); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// appendPlain encodes a Go value without escaping <, > and &: the result is not meant for a
// browser.
func appendPlain(out []byte, value any) ([]byte, error) {
	buffer := limitedBuffer{limit: maxRendered}
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	encoded := buffer.Bytes()
	return append(out, encoded[:len(encoded)-1]...), nil // without the encoder's newline
}
