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

// MaxText is the maximum length of an id or a type in the outbox, in bytes.
const MaxText = 255

// KeyRule builds a document's dedup key. Errors: *EventError.
type KeyRule func(d *Document) (string, error)

// Verbatim returns a rule that uses the id as the sender spells it.
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

// Composite returns a rule that joins several values. All fields must be present, except those
// with IfAny.
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

// part returns the value at f as a key part. If the part is optional (IfAny), its value may be of
// any JSON type, and is hashed unless Text accepts it. A missing value is "" in an optional part,
// and an error in any other.
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

// Hashed returns a rule that hashes the values of some fields. All fields must be present, except
// those with IfAny. White space and the order of keys in JSON do not matter.
func Hashed(fields ...Field) KeyRule { return HashedSome(fields) }

// HashedSome is like Hashed, but also hashes optional fields, which may be missing. In JSON, a
// missing value differs from null and from an empty string.
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
			h.Write(content[:]) // all zero if the value is missing
		}
		return hashPrefix + hex.EncodeToString(h.Sum(nil)), nil
	}
}

// Whole returns a rule that hashes the complete body or list item, without some members. attempt
// lists the JSON pointers to these members, which change with each attempt. The rule is for senders
// that send no id.
func Whole(attempt ...string) KeyRule { return Hashed(At("").Except(attempt...)) }

// KeyHasMore is the note about senders whose keys had fewer fields in earlier versions.
const KeyHasMore = "Earlier versions of Hooklatch built the key from fewer fields: a delivery that is retried across the upgrade may be accepted twice."

// OrWhole returns a rule that applies another rule, or Whole if a part of that rule's key is
// missing or unusable.
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

// WholeForm returns a rule that hashes a form, without the fields named in attempt. These fields
// differ between attempts to send one delivery.
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

// isUnreadable reports whether an error means that the body does not have the declared format.
func isUnreadable(err error) bool {
	unusable, ok := errors.AsType[*provider.EventError](err)
	return ok && unusable.Unreadable
}

// digest hashes the value at f. It returns false if the value is missing, or is an empty header or
// form field.
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

// Join builds one key from several parts, so that no two lists of parts give the same key: ":"
// separates the parts and is escaped inside them. A key that is too long becomes a hash.
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

// HashOf hashes parts together with their lengths.
func HashOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return hashPrefix + hex.EncodeToString(h.Sum(nil))
}

// Clean reports whether a string can be part of a key or a type: it is valid UTF-8 without control
// characters.
func Clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
