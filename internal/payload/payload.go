// Package payload determines a delivery body's format for all its readers. The gateway finds events
// in the body, and the worker's conditions and keys read the body: gateway and worker must agree on
// the format.
package payload

import (
	"bytes"
	"strings"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// FormType is the content type of a urlencoded form.
const FormType = "application/x-www-form-urlencoded"

// IsForm reports whether a body is a urlencoded form, by its content type and its beginning. No
// sender signs the content type: with the content type alone, a JSON body could be made to look
// like a form, as curl -d does by default. A form never begins like a JSON object or list.
func IsForm(contentType string, body []byte) bool {
	if beginsAsJSON(body) {
		return false
	}
	return mediaTypeOf(contentType) == FormType
}

// mediaTypeOf returns a content type without its parameters, in lower case. mime.ParseMediaType
// refuses the whole content type for one parameter that it cannot read, such as "; utf-8", which
// some senders write.
func mediaTypeOf(contentType string) string {
	mediaType, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

func beginsAsJSON(body []byte) bool {
	start := bytes.TrimLeft(jsonpointer.WithoutMark(body), " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}
