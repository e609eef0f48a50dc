package payload

import (
	"bytes"
	"encoding/json"
	"mime"
	"strings"
)

// Contains reports whether a body contains a text: in its bytes, in a JSON name or value
// however its characters are escaped, or in a form's name or value.
func Contains(contentType string, body []byte, text string) bool {
	if bytes.Contains(body, []byte(text)) {
		return true
	}
	switch KindOf(contentType, body) {
	case JSON:
		return bytes.IndexByte(body, '\\') >= 0 && inJSON(body, text)
	case Form:
		if media, _, err := mime.ParseMediaType(contentType); err == nil && media == "multipart/form-data" {
			return false // the values of a multipart form are not escaped
		}
		for name, value := range Pairs(string(body)) {
			if strings.Contains(name, text) || strings.Contains(value, text) {
				return true
			}
		}
	case Other:
	}
	return false
}

// inJSON reports whether a name or a string value of the JSON contains text.
func inJSON(body []byte, text string) bool {
	tokens := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	tokens.UseNumber()
	for {
		token, err := tokens.Token()
		if err != nil {
			return false
		}
		if s, ok := token.(string); ok && strings.Contains(s, text) {
			return true
		}
	}
}
