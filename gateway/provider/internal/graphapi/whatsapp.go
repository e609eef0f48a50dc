package graphapi

import (
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// WhatsAppObject is the value of /object in WhatsApp's deliveries. Only WhatsApp's event types
// begin with the name of the field.
const WhatsAppObject = "whatsapp_business_account"

// whatsAppMessages finds messages and statuses in a change of the field messages. A change that
// contains neither is a report of errors, and becomes one event.
func whatsAppMessages(d *proof.Document) ([]provider.Event, error) {
	messages, err := d.At("/value/messages")
	if err != nil {
		return nil, d.Blame(err)
	}
	statuses, err := d.At("/value/statuses")
	if err != nil {
		return nil, d.Blame(err)
	}
	list := func(value gjson.Result) bool { return value.IsArray() || value.Type == gjson.Null }
	if !messages.Exists() && !statuses.Exists() || !list(messages) || !list(statuses) {
		return update(d)
	}
	sent := proof.Clock{Pointer: "/timestamp", Unit: proof.Seconds}
	return proof.AllOf(
		proof.EachIfAny("/value/messages", proof.Facts{
			ID: proof.Composite(proof.At("/id")), Kind: proof.Fixed("message"), Detail: proof.At("/type"), Occurred: sent,
		}.Of),
		proof.EachIfAny("/value/statuses", proof.Facts{
			ID: whatsAppStatus, Kind: proof.Fixed("status"), Detail: proof.At("/status"), Occurred: sent,
		}.Of),
	)(d)
}

// whatsAppStatus builds the key of a status. In a group, each participant has a separate status, so
// the key contains the participant. The payment statuses of one order share an id and may have the
// same status: two failed attempts, or a refund and a captured payment. The key of a payment status
// therefore contains the payment.
func whatsAppStatus(d *proof.Document) (string, error) {
	fields := []proof.Field{proof.At("/id"), proof.At("/status").IfAny()}
	if participant := proof.At("/recipient_participant_id"); participant.Optional(d) != "" {
		fields = append(fields, participant)
	}
	if payment, err := d.At("/payment"); err == nil && payment.Exists() {
		fields = append(fields, proof.At("/payment").IfAny())
	}
	return proof.Composite(fields...)(d)
}
