package payload

import (
	"encoding/hex"
	"iter"
	"net/url"
	"strings"
)

// ParseForm returns the fields of a urlencoded form, or of a URL's query. Like browsers and other
// languages, and unlike url.ParseQuery, it reads every text: a semicolon, and a percent sign without
// two hex digits, stand for themselves. Source: WHATWG URL, section 5.1.
func ParseForm(form string) url.Values {
	fields := url.Values{}
	for name, value := range Pairs(form) {
		fields[name] = append(fields[name], value)
	}
	return fields
}

// Pairs returns the names and values of a urlencoded form in order, as ParseForm reads them.
func Pairs(form string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for pair := range strings.SplitSeq(form, "&") {
			if pair == "" {
				continue
			}
			name, value, _ := strings.Cut(pair, "=")
			if !yield(Unescape(name), Unescape(value)) {
				return
			}
		}
	}
}

// Unescape decodes one name or value of a urlencoded form, as ParseForm does. The result need not be
// valid UTF-8.
func Unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(text):
			var decoded [1]byte
			if _, err := hex.Decode(decoded[:], []byte(text[i+1:i+3])); err == nil {
				c = decoded[0]
				i += 2
			}
		}
		plain = append(plain, c)
	}
	return string(plain)
}
