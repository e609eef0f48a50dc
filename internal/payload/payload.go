// Package payload determines the format of a delivery's body for all its readers: the
// gateway that finds events in it, and the worker whose conditions and keys read it, must
// agree.
package payload

import (
	"bytes"
	"mime"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// FormType is the content type of a form.
const FormType = "application/x-www-form-urlencoded"

// IsForm reports whether a body is a form: by its content type, which no sender signs,
// and by its beginning, which no form shares with a JSON container. Otherwise a JSON body
// could be made to look like a form, as curl -d does by default.
func IsForm(contentType string, body []byte) bool {
	if beginsAsJSON(body) {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == FormType
}

func beginsAsJSON(body []byte) bool {
	start := bytes.TrimLeft(jsonpointer.WithoutMark(body), " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}
