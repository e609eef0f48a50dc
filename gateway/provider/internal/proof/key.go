package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// MaxText is the length in bytes the outbox takes for ids and types.
const MaxText = 255

// KeyRule finds the dedup key of a document. Errors: *EventError.
type KeyRule func(d *Document) (string, error)

// Verbatim takes the id as the sender spells it.
func Verbatim(f Field) KeyRule {
	return func(d *Document) (string, error) {
		id, err := f.Text(d)
		if err != nil {
			return "", err
		}
		if len(id) > MaxText {
			return "", &provider.EventError{Message: "the event id in " + f.place() + " is longer than 255 bytes"}
		}
		return id, nil
	}
}

// Composite joins several texts, all of which must be there, those with IfAny
// apart.
func Composite(fields ...Field) KeyRule {
	return func(d *Document) (string, error) {
		parts := make([]string, len(fields))
		for i, f := range fields {
			var err error
			if parts[i], err = f.part(d); err != nil {
				return "", err
			}
		}
		return Join(parts...), nil
	}
}

// part returns what stands at f as a part of a key. Where it may be missing, a
// value that is no text counts by its hash.
func (f Field) part(d *Document) (string, error) {
	text, err := f.Text(d)
	if err == nil || !f.ifAny {
		return text, err
	}
	content, ok, err := f.digest(d)
	if err != nil || !ok {
		return "", err
	}
	return hashPrefix + hex.EncodeToString(content[:]), nil
}

// Hashed makes the key of what stands at some places, all of which must be
// there, those with IfAny apart. JSON counts as a value: white space and the order of keys do not.
func Hashed(fields ...Field) KeyRule { return HashedSome(fields) }

// HashedSome is hashed with further places where there may be nothing. Nothing
// counts as another value than null or an empty text.
func HashedSome(required []Field, optional ...Field) KeyRule {
	fields := slices.Concat(required, optional)
	return func(d *Document) (string, error) {
		h := sha256.New()
		for i, f := range fields {
			content, ok, err := f.digest(d)
			switch {
			case err != nil:
				return "", err
			case !ok && i < len(required) && !f.ifAny:
				return "", &provider.EventError{Message: f.missing()}
			}
			name := sha256.Sum256([]byte(f.place()))
			h.Write(name[:])
			h.Write(content[:]) // all zero when nothing is there
		}
		return hashPrefix + hex.EncodeToString(h.Sum(nil)), nil
	}
}

// Whole makes the key of a hash of the whole item. It is for senders that send
// no id: all that they say counts, except for what an attempt changes.
func Whole(attempt ...string) KeyRule { return Hashed(At("").Except(attempt...)) }

// KeyHasMore is the note of senders whose keys had fewer fields in the past.
const KeyHasMore = "Earlier versions of Hooklatch made the key of fewer fields: a delivery that is repeated across the upgrade may be accepted twice."

// OrWhole is another rule, or Whole where a part of its key is missing or
// unusable.
func OrWhole(rule KeyRule, attempt ...string) KeyRule {
	whole := Whole(attempt...)
	return func(d *Document) (string, error) {
		id, err := rule(d)
		if err == nil || isUnreadable(err) {
			return id, err
		}
		return whole(d)
	}
}

// WholeForm makes the key of a hash of all fields of a form, except for some.
func WholeForm(attempt ...string) KeyRule {
	return func(d *Document) (string, error) {
		fields, err := d.Form()
		if err != nil {
			return "", err
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if !slices.Contains(attempt, name) {
				parts = append(parts, name, HashOf(fields[name]...))
			}
		}
		return HashOf(parts...), nil
	}
}

// isUnreadable reports whether the body is not what the format says.
func isUnreadable(err error) bool {
	unusable, ok := errors.AsType[*provider.EventError](err)
	return ok && unusable.Unreadable
}

// digest hashes what stands at f; false: nothing does.
func (f Field) digest(d *Document) (digest, bool, error) {
	if f.Header != "" || f.Form != "" || f.Fixed != "" {
		text, err := f.Find(d)
		if err != nil || text == "" {
			return digest{}, false, err
		}
		return sha256.Sum256([]byte("t" + text)), true, nil
	}
	value, err := d.above(f.levels).At(f.Pointer)
	if err != nil || !value.Exists() {
		return digest{}, false, err
	}
	return digestWithout(value.Raw, f.less), true, nil
}

func (f Field) missing() string {
	if f.Header != "" || f.Form != "" {
		return f.place() + " is missing or empty, and is part of the event id"
	}
	return "the body has nothing at " + f.place() + ", which is part of the event id"
}

const hashPrefix = "sha256:"

var escapeParts = strings.NewReplacer("%", "%25", ":", "%3A")

// Join makes one key of several parts, so that no two lists of parts give the
// same key: ":" stands between them and is escaped inside. What is too long
// for a key becomes a hash.
func Join(parts ...string) string {
	var key strings.Builder
	for i, part := range parts {
		if i > 0 {
			key.WriteByte(':')
		}
		key.WriteString(escapeParts.Replace(part))
	}
	if key.Len() <= MaxText {
		return key.String()
	}
	return HashOf(parts...)
}

// HashOf hashes parts with their lengths.
func HashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hashPrefix + hex.EncodeToString(h.Sum(nil))
}

// Clean reports whether a text can be part of a key or a type: valid UTF-8
// without control characters.
func Clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
