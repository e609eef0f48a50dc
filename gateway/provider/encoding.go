package provider

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// encoding is how bytes are spelled in a header or in the configuration.
type encoding string

const (
	rawBytes  encoding = "raw"
	hexDigits encoding = "hex"
	base64Std encoding = "base64"
	base64URL encoding = "base64url"

	// base64Bare is base64URL, written without padding.
	base64Bare encoding = "base64url without padding"
)

var (
	errMixedCase = errors.New("hex digits of both cases")
	errPadding   = errors.New("wrong base64 padding")
	errLineBreak = errors.New("line break in base64")
)

// decode reads s strictly: no two spellings a network could turn into each
// other by one bit give the same bytes. Padding of base64 may be left out.
func (e encoding) decode(s string) ([]byte, error) {
	switch e {
	case rawBytes:
		return []byte(s), nil
	case hexDigits:
		if s != strings.ToLower(s) && s != strings.ToUpper(s) {
			return nil, errMixedCase
		}
		return hex.DecodeString(s)
	case base64Std:
		return decodeBase64(base64.RawStdEncoding, s)
	case base64URL, base64Bare:
		return decodeBase64(base64.RawURLEncoding, s)
	}
	return nil, fmt.Errorf("unknown encoding %q", string(e))
}

func (e encoding) encode(b []byte) string {
	switch e {
	case hexDigits:
		return hex.EncodeToString(b)
	case base64Std:
		return base64.StdEncoding.EncodeToString(b)
	case base64URL:
		return base64.URLEncoding.EncodeToString(b)
	case base64Bare:
		return base64.RawURLEncoding.EncodeToString(b)
	}
	return string(b)
}

func decodeBase64(enc *base64.Encoding, s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") { // the decoder would skip them
		return nil, errLineBreak
	}
	digits := strings.TrimRight(s, "=")
	if padding := len(s) - len(digits); padding > 2 || padding > 0 && len(s)%4 != 0 {
		return nil, errPadding
	}
	return enc.Strict().DecodeString(digits)
}
