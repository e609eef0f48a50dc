package provider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/jsonpointer"
)

// object is a JSON object of a sample.
type object map[string]any

// sampleJSON makes an unsigned JSON delivery; headers are pairs of name and
// value.
func sampleJSON(body any, headers ...string) *Request {
	text, err := json.Marshal(body)
	if err != nil { // a sample is made of texts, numbers and objects only
		panic(fmt.Sprintf("sample: %v", err))
	}
	return sample(text, jsonType, headers...)
}

// sample makes an unsigned delivery.
func sample(body []byte, contentType string, headers ...string) *Request {
	r := &Request{Method: http.MethodPost, Header: http.Header{}, Body: body}
	r.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// freshID makes an id nobody used before.
func freshID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// numberOf and commitOf are what a sample calls the thing its event is about. They
// follow from the id of the event: where that stands in a header only, the
// signed texts of two events would be equal otherwise, and look like a replay.
func numberOf(id string) int64 {
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint32(sum[:]))
}

func commitOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:20]) // as long as those of git
}

// draft is a sample whose fields stand where options say.
type draft struct {
	header http.Header
	body   any
	form   url.Values // a form body, as soon as a field is put into it
}

func newDraft() *draft { return &draft{header: http.Header{}, body: object{}} }

// put sets what stands at f; for a fixed text there is nothing to set.
func (d *draft) put(f field, value any) {
	switch {
	case f.Header != "":
		d.header.Set(f.Header, fmt.Sprint(value))
	case f.Form != "":
		if d.form == nil {
			d.form = url.Values{}
		}
		d.form.Set(f.Form, fmt.Sprint(value))
	case f.Pointer != "":
		d.body = plant(d.body, jsonpointer.Tokens(f.Pointer), value)
	}
}

// putTime sets the time that stands at c.
func (d *draft) putTime(c clock, now time.Time) {
	if c.Pointer == "" {
		return
	}
	switch c.unit {
	case seconds:
		d.put(at(c.Pointer), now.Unix())
	case milliseconds:
		d.put(at(c.Pointer), now.UnixMilli())
	default:
		d.put(at(c.Pointer), now.UTC().Format(time.RFC3339Nano))
	}
}

// request makes the unsigned delivery.
func (d *draft) request() *Request {
	r := sampleJSON(d.body)
	if d.form != nil {
		r = sample([]byte(d.form.Encode()), formType)
	}
	for name := range d.header {
		r.Header.Set(name, d.header.Get(name))
	}
	return r
}

// plant returns node with value at the end of the path, over whatever was in
// the way.
func plant(node any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if list, ok := node.([]any); path[0] == "0" && (node == nil || ok) {
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = plant(list[0], path[1:], value)
		return list
	}
	members, ok := node.(object)
	if !ok {
		members = object{}
	}
	members[path[0]] = plant(members[path[0]], path[1:], value)
	return members
}
