package outbox

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Payload is the event's own bytes: its delivery's body, or the part of it
// that Item points to.
func (e *Event) Payload() []byte { return partOf(e.Body, e.Item) }

// part is the event's own bytes inside body.
func (in Incoming) part(body []byte) []byte {
	if in.Part != nil {
		return in.Part
	}
	return partOf(body, in.Item)
}

// partOf returns the bytes of body that the JSON pointer (RFC 6901) item
// points to, exactly as they came; the whole body when item is empty or points
// nowhere.
func partOf(body []byte, item string) []byte {
	if item == "" {
		return body
	}
	value := gjson.ParseBytes(body)
	for token := range strings.SplitSeq(strings.TrimPrefix(item, "/"), "/") {
		value = member(value, unescapePointer.Replace(token))
		if !value.Exists() {
			return body
		}
	}
	return []byte(value.Raw)
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

func member(value gjson.Result, token string) gjson.Result {
	index := -1
	if value.IsArray() {
		i, err := strconv.Atoi(token)
		if err != nil {
			return gjson.Result{}
		}
		index = i
	}
	var found gjson.Result
	at := 0
	value.ForEach(func(key, element gjson.Result) bool {
		if index >= 0 && at == index || index < 0 && key.String() == token {
			found = element
			return false
		}
		at++
		return true
	})
	return found
}
