// Package elements reads the text of requested elements from XML that a sender has signed, strictly
// and within limits.
package elements

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Limits for a sender's document.
const (
	maxElements     = 1_000_000
	maxElementDepth = 100
)

var (
	errNoXML      = &provider.EventError{Unreadable: true, Message: "the body is not readable XML"}
	errTooMuchXML = &provider.EventError{Unreadable: true, Message: "the body has too many XML elements, or they are nested too deeply"}
)

// IsXML reports whether a body can be XML. JSON and forms never begin like XML.
func IsXML(body []byte) bool {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) // the byte order mark
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("<"))
}

// Texts maps an element's path to its text. A path consists of the local names from the root, such
// as "order/customer/name". Texts contains only requested paths that exist.
type Texts map[string]string

// Read returns the texts at the given paths. It reads the document once, from front to back,
// and keeps nothing but these texts. It is strict where two readers could understand a document
// differently: a requested element may occur only once, and a document type declaration is refused.
// Errors: *provider.EventError.
func Read(body []byte, paths ...string) (Texts, error) {
	found := Texts{}
	at := make([]string, 0, 8)
	var text strings.Builder
	decoder := xml.NewDecoder(bytes.NewReader(body))
	for n := 0; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errNoXML
		}
		switch token := token.(type) {
		case xml.Directive: // a DTD
			return nil, errNoXML
		case xml.StartElement:
			if n++; n > maxElements || len(at) == maxElementDepth {
				return nil, errTooMuchXML
			}
			at = append(at, token.Name.Local)
			text.Reset()
		case xml.CharData:
			if slices.Contains(paths, strings.Join(at, "/")) {
				text.Write(token)
			}
		case xml.EndElement:
			path := strings.Join(at, "/")
			if slices.Contains(paths, path) {
				if _, twice := found[path]; twice {
					return nil, &provider.EventError{Message: path + " occurs more than once in the body"}
				}
				found[path] = strings.TrimSpace(text.String())
			}
			at = at[:len(at)-1]
			text.Reset()
		}
	}
	return found, nil
}

// Text returns the text at a path. It returns an error if the text is empty or cannot be part of
// a key. Errors: *provider.EventError.
func (t Texts) Text(path string) (string, error) {
	text := t[path]
	switch {
	case text == "":
		return "", &provider.EventError{Message: path + " is missing or empty"}
	case !proof.Clean(text):
		return "", &provider.EventError{Message: path + " contains control characters or is not valid UTF-8"}
	case len(text) > proof.MaxText:
		return "", &provider.EventError{Message: path + " is longer than 255 bytes"}
	}
	return text, nil
}
