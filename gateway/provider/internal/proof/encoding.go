package proof

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Encoding is the encoding of bytes in a header or in the configuration.
type Encoding string

// Values of Encoding. Options accept all of them except Base64Bare.
const (
	Raw       Encoding = "raw"
	Hex       Encoding = "hex"
	Base64    Encoding = "base64"
	Base64URL Encoding = "base64url"

	// Base64Bare is Base64URL without padding.
	Base64Bare Encoding = "base64url without padding"
)

var (
	errMixedCase = errors.New("hex digits in mixed case")
	errPadding   = errors.New("wrong base64 padding")
	errLineBreak = errors.New("line break in base64")
)

// Decode decodes s strictly: two strings that differ in one bit decode to different bytes, unless
// the difference is the case of a hex string's only letter. The padding of base64 may be left out.
func (e Encoding) Decode(s string) ([]byte, error) {
	switch e {
	case Raw:
		return []byte(s), nil
	case Hex:
		if s != strings.ToLower(s) && s != strings.ToUpper(s) {
			return nil, errMixedCase
		}
		return hex.DecodeString(s)
	case Base64:
		return decodeBase64(base64.RawStdEncoding, s)
	case Base64URL, Base64Bare:
		return decodeBase64(base64.RawURLEncoding, s)
	}
	return nil, fmt.Errorf("unknown encoding %q", string(e))
}

// Encode is the inverse of Decode. It writes hex in lower case.
func (e Encoding) Encode(b []byte) string {
	switch e {
	case Hex:
		return hex.EncodeToString(b)
	case Base64:
		return base64.StdEncoding.EncodeToString(b)
	case Base64URL:
		return base64.URLEncoding.EncodeToString(b)
	case Base64Bare:
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
