package payload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// MultipartType is the content type of a multipart form (RFC 7578).
const MultipartType = "multipart/form-data"

// Limits for a multipart form.
const (
	maxParts = 1000
	// maxPart is the size of the largest part that counts as text, in bytes. A larger part
	// counts as a file.
	maxPart = 64 << 10
)

// ErrNotMultipart is returned if a body is not the multipart form that its content type
// declares, or has more than 1,000 parts.
var ErrNotMultipart = errors.New("the body is not a form in several parts (multipart/form-data)")

// BoundaryOf returns the boundary between the parts of a multipart form, or "" if the content type
// contains none. It returns false if the body is not a multipart form.
func BoundaryOf(contentType string, body []byte) (string, bool) {
	if beginsAsJSON(body) || mediaTypeOf(contentType) != MultipartType {
		return "", false
	}
	_, parameters, _ := strings.Cut(contentType, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		if _, params, err := mime.ParseMediaType(MultipartType + ";" + parameter); err == nil && params["boundary"] != "" {
			return params["boundary"], true
		}
	}
	return "", true
}

// IsMultipart reports whether a body is a multipart form.
func IsMultipart(contentType string, body []byte) bool {
	_, is := BoundaryOf(contentType, body)
	return is
}

// Fields returns the fields of a urlencoded or multipart form. For a file, or a part above 64 KiB,
// the value is "sha256:" followed by the hash of its bytes in hex. So a key or a condition can
// distinguish two files. Errors: ErrNotMultipart.
func Fields(contentType string, body []byte) (url.Values, error) {
	if boundary, is := BoundaryOf(contentType, body); is {
		return parts(body, boundary)
	}
	return ParseForm(string(jsonpointer.WithoutMark(body))), nil
}

func parts(body []byte, boundary string) (url.Values, error) {
	fields := url.Values{}
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) && bytes.Contains(body, []byte("--"+boundary+"--")) { // otherwise the body was cut short
			return fields, nil
		}
		if err != nil || n == maxParts {
			return nil, ErrNotMultipart
		}
		value, err := valueOf(part)
		if err != nil {
			return nil, ErrNotMultipart
		}
		fields.Add(part.FormName(), value)
	}
}

// valueOf reads a complete part and returns its value.
func valueOf(part *multipart.Part) (string, error) {
	text, err := io.ReadAll(io.LimitReader(part, maxPart+1))
	if err != nil {
		return "", err
	}
	if part.FileName() == "" && len(text) <= maxPart {
		return string(text), nil
	}
	sum := sha256.New()
	sum.Write(text)
	if _, err := io.Copy(sum, part); err != nil {
		return "", fmt.Errorf("read a part: %w", err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}
