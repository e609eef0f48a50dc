package proof

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

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// Object is a JSON object in a sample.
type Object map[string]any

// SampleJSON builds an unsigned JSON delivery. In headers, names and values alternate.
func SampleJSON(body any, headers ...string) *provider.Request {
	text, err := json.Marshal(body)
	if err != nil { // impossible: json.Marshal accepts every value in a sample
		panic(fmt.Sprintf("sample: %v", err))
	}
	return Sample(text, JSONType, headers...)
}

// Sample builds an unsigned delivery. In headers, names and values alternate.
func Sample(body []byte, contentType string, headers ...string) *provider.Request {
	r := &provider.Request{Method: http.MethodPost, Header: http.Header{}, Body: body}
	r.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// FreshID returns an id that was never used before.
func FreshID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// NumberOf returns the object number in a sample, computed from the event's id. Without the number,
// two samples whose ids are only in a header would have the same signed text. The second sample
// would then look like a replay of the first.
func NumberOf(id string) int64 {
	sum := sha256.Sum256([]byte(id))
	return int64(binary.BigEndian.Uint32(sum[:]))
}

// CommitOf returns the git commit in a sample, computed from the event's id. The comment on
// NumberOf gives the reason.
func CommitOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:20]) // as long as git's hashes
}

// draft is a sample under construction. Its fields are at the locations that the options set.
type draft struct {
	header http.Header
	body   any
	form   url.Values // the form body; nil until a field is put into it
}

func newDraft() *draft { return &draft{header: http.Header{}, body: Object{}} }

// put sets the value at f. It does nothing for a fixed string.
func (d *draft) put(f Field, value any) {
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

// putTime sets the time at c.
func (d *draft) putTime(c Clock, now time.Time) {
	if c.Pointer == "" {
		return
	}
	switch c.Unit {
	case Seconds:
		d.put(At(c.Pointer), now.Unix())
	case Milliseconds:
		d.put(At(c.Pointer), now.UnixMilli())
	default:
		d.put(At(c.Pointer), now.UTC().Format(time.RFC3339Nano))
	}
}

// request builds the unsigned delivery.
func (d *draft) request() *provider.Request {
	r := SampleJSON(d.body)
	if d.form != nil {
		r = Sample([]byte(d.form.Encode()), FormType)
	}
	for name := range d.header {
		r.Header.Set(name, d.header.Get(name))
	}
	return r
}

// plant returns node with value at the end of the path. If a value on the path is neither an object
// nor a list that fits, plant replaces it.
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
	members, ok := node.(Object)
	if !ok {
		members = Object{}
	}
	members[path[0]] = plant(members[path[0]], path[1:], value)
	return members
}
