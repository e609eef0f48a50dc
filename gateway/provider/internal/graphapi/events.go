package graphapi

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// events returns the rule that splits a delivery into events: its entries contain field
// changes or conversation items. A delivery without entries is one event.
func events() proof.EventRule {
	entries := entries()
	return func(d *proof.Document) ([]provider.Event, error) {
		body, err := d.JSON()
		if err != nil {
			return nil, err
		}
		entry, err := d.At("/entry")
		if err != nil {
			return nil, err
		}
		if body.IsObject() && !entry.Exists() {
			return withoutEntries(d)
		}
		return entries(d)
	}
}

// withoutEntries describes a delivery as one event. Threads sends such deliveries: each has one
// change.
func withoutEntries(d *proof.Document) ([]provider.Event, error) {
	return proof.Facts{ID: wholeIfTimed(d), Kind: proof.At("/values/field"), Occurred: proof.Clock{Pointer: "/time"}}.Of(d)
}

// wholeIfTimed returns the key rule for content without an id. If the content has no time, two
// events may have the same content, so the rule builds a new key each time.
func wholeIfTimed(d *proof.Document) proof.KeyRule {
	if proof.At("/time").Optional(d) == "" {
		return proof.EveryTime(proof.At("/id").IfAny())
	}
	return proof.Whole()
}

// entries returns the rule that splits a list of entries into events.
func entries() proof.EventRule {
	lists := proof.AllOf(
		proof.EachIfAny("/changes", change),
		proof.EachIfAny("/messaging", conversation("")),
		proof.EachIfAny("/standby", conversation("standby.")),
	)
	return proof.Each("/entry", func(d *proof.Document) ([]provider.Event, error) {
		for _, list := range []string{"/changes", "/messaging", "/standby"} {
			if found, err := d.At(list); err != nil || found.Exists() {
				return lists(d)
			}
		}
		// An app that does not request values gets only the names of the changed
		// fields.
		return proof.Facts{ID: wholeIfTimed(d), Kind: proof.Fixed(objectPart(d, 1) + "changed")}.Of(d)
	})
}

// objectPart returns the first part of a type: the name of the changed object and a dot. It returns
// "" for WhatsApp. levels is the number of lists between d and the body.
func objectPart(d *proof.Document, levels int) string {
	object := proof.At("/object").Up(levels).Optional(d)
	if object == WhatsAppObject { // only WhatsApp's event types begin with the name of the field
		return ""
	}
	return cmp.Or(object, proof.UnknownType) + "."
}

// change extracts the events of one field change. Meta gives a change no id, so a time
// distinguishes equal changes.
func change(d *proof.Document) ([]provider.Event, error) {
	if proof.At("/object").Up(2).Optional(d) == WhatsAppObject && proof.At("/field").Optional(d) == "messages" {
		return whatsAppMessages(d)
	}
	return update(d)
}

func update(d *proof.Document) ([]provider.Event, error) {
	kind := proof.Fixed(proof.UnknownType)
	if name := proof.At("/field").Optional(d); name != "" {
		kind = proof.Fixed(objectPart(d, 2) + name)
	}
	field, entry := proof.At("/field").IfAny(), proof.At("/id").Up(1)
	id := proof.HashedSome([]proof.Field{field}, proof.At("/value"), entry, proof.At("/time").Up(1))
	if !isTimed(d) {
		id = proof.EveryTime(field, entry.IfAny())
	}
	return proof.Facts{
		ID:       id,
		Kind:     kind,
		Occurred: proof.Clock{Pointer: "/time"}.Up(1),
	}.Of(d)
}

// isTimed reports whether a change has a time, in its entry or in its value. In WhatsApp's
// deliveries, an entry has no time if its changes concern the field messages. With a key built from
// the content alone, a problem that WhatsApp reports again a week later would be a duplicate.
func isTimed(d *proof.Document) bool {
	if proof.At("/time").Up(1).Optional(d) != "" {
		return true
	}
	value, err := d.At("/value")
	return err != nil || strings.Contains(value.Raw, `"timestamp"`)
}

// conversation returns the rule for a conversation item: a message, or a report about one.
func conversation(channel string) proof.EventRule {
	return func(d *proof.Document) ([]provider.Event, error) {
		kind, err := kindOfItem(d)
		if err != nil {
			return nil, d.Blame(err)
		}
		rule := proof.Facts{
			ID:       proof.HashedSome([]proof.Field{proof.At("")}, proof.At("/id").Up(1), proof.Fixed(channel+kind)),
			Kind:     proof.Fixed(objectPart(d, 2) + channel + kind),
			Occurred: proof.Clock{Pointer: "/timestamp"},
		}
		switch kind {
		case proof.UnknownType:
			rule.Kind = proof.Fixed(proof.UnknownType)
			return rule.Of(d)
		case "message":
		default:
			return rule.Of(d)
		}
		// A deletion has the id of the message that was deleted, and an echo may have the id of the
		// message that it repeats.
		mark := ""
		switch {
		case proof.At("/message/is_deleted").Holds(d):
			mark = ".deleted"
		case proof.At("/message/is_echo").Holds(d):
			mark = ".echo"
		}
		rule.Kind.Fixed += mark
		if mid := proof.At("/message/mid"); mid.Optional(d) != "" {
			rule.ID = proof.Composite(mid)
			if what := channel + mark; what != "" {
				rule.ID = proof.Composite(mid, proof.Fixed(strings.Trim(what, ".")))
			}
		}
		return rule.Of(d)
	}
}

// kindOfItem returns the kind of a conversation item: message if the item has an object of that
// name, otherwise the alphabetically first name among its other objects. The parties (sender,
// recipient and account) do not count. Without a usable name, the kind is UnknownType.
func kindOfItem(d *proof.Document) (string, error) {
	root, err := d.JSON()
	if err != nil {
		return "", err
	}
	kind := ""
	root.ForEach(func(key, value gjson.Result) bool {
		switch name := key.Str; {
		case !root.IsObject() || !value.IsObject() || name == "sender" || name == "recipient" || name == "account":
		case name == "message" || kind == "": // an item may have other members next to its message
			kind = name
		case kind != "message":
			kind = min(kind, name) // makes the result independent of the members' order
		}
		return true
	})
	if kind == "" || !proof.Clean(kind) {
		return proof.UnknownType, nil
	}
	return kind, nil
}
