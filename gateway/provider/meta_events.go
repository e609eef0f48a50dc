package provider

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
)

// metaEvents fans a delivery out: its entries hold changes of fields, or what
// happened in conversations.
func metaEvents() eventRule {
	lists := allOf(
		eachIfAny("/changes", metaChange),
		eachIfAny("/messaging", metaConversation("")),
		eachIfAny("/standby", metaConversation("standby.")),
	)
	return each("/entry", func(d *document) ([]Event, error) {
		for _, list := range []string{"/changes", "/messaging", "/standby"} {
			if found, err := d.at(list); err != nil || found.Exists() {
				return lists(d)
			}
		}
		// An app that does not ask for values gets the names of the changed
		// fields only.
		return facts{id: hashed(at("")), kind: fixed(metaObject(d, 1) + "changed")}.of(d)
	})
}

// metaObject is the first part of a type: whose change it is, so many lists
// above d.
func metaObject(d *document, levels int) string {
	object := at("/object").up(levels).optional(d)
	if object == whatsAppObject { // the only one whose types begin with the field
		return ""
	}
	return cmp.Or(object, unknownType) + "."
}

// metaChange describes one change of a field. Meta gives it no id: the time of
// its entry tells it from an equal one.
func metaChange(d *document) ([]Event, error) {
	if at("/object").up(2).optional(d) == whatsAppObject && at("/field").optional(d) == "messages" {
		return whatsAppMessages(d)
	}
	return metaUpdate(d)
}

func metaUpdate(d *document) ([]Event, error) {
	name, err := at("/field").text(d)
	if err != nil {
		return nil, d.blame(err)
	}
	return facts{
		id:       hashedSome([]field{at("/field")}, at("/value"), at("/id").up(1), at("/time").up(1)),
		kind:     fixed(metaObject(d, 2) + name),
		occurred: clock{Pointer: "/time"}.up(1),
	}.of(d)
}

// metaConversation describes what happened in a conversation: a message, or
// something about one.
func metaConversation(channel string) eventRule {
	return func(d *document) ([]Event, error) {
		kind, err := metaKind(d)
		if err != nil {
			return nil, d.blame(err)
		}
		rule := facts{
			id: hashedSome(
				[]field{at("/" + escapePointer.Replace(kind))},
				at("/sender"), at("/recipient"), at("/timestamp"), at("/id").up(1), fixed(channel+kind),
			),
			kind:     fixed(metaObject(d, 2) + channel + kind),
			occurred: clock{Pointer: "/timestamp"},
		}
		if kind != "message" {
			return rule.of(d)
		}
		// A deleted message comes again under its id, and an echo may.
		mark := ""
		switch {
		case at("/message/is_deleted").holds(d):
			mark = ".deleted"
		case at("/message/is_echo").holds(d):
			mark = ".echo"
		}
		rule.kind.Fixed += mark
		if mid := at("/message/mid"); mid.optional(d) != "" {
			rule.id = composite(mid)
			if what := channel + mark; what != "" {
				rule.id = composite(mid, fixed(strings.Trim(what, ".")))
			}
		}
		return rule.of(d)
	}
}

// metaKind names what an item of a conversation is about: the member that says
// neither who nor when.
func metaKind(d *document) (string, error) {
	root, err := d.json()
	if err != nil {
		return "", err
	}
	kind := ""
	root.ForEach(func(key, value gjson.Result) bool {
		switch name := key.Str; {
		case !root.IsObject() || !value.IsObject() || name == "sender" || name == "recipient" || name == "account":
		case name == "message" || kind == "": // other members may stand beside a message
			kind = name
		case kind != "message":
			kind = min(kind, name) // whatever their order
		}
		return true
	})
	if kind == "" || !clean(kind) {
		return "", &EventError{Message: "the item does not say what happened"}
	}
	return kind, nil
}
