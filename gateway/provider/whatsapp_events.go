package provider

const whatsAppObject = "whatsapp_business_account"

// whatsAppMessages finds messages and statuses in a change of the field
// messages. One that has neither tells of errors.
func whatsAppMessages(d *document) ([]Event, error) {
	messages, err := d.at("/value/messages")
	if err != nil {
		return nil, d.blame(err)
	}
	statuses, err := d.at("/value/statuses")
	if err != nil {
		return nil, d.blame(err)
	}
	if !messages.Exists() && !statuses.Exists() {
		return metaUpdate(d)
	}
	sent := clock{Pointer: "/timestamp", unit: seconds}
	return allOf(
		eachIfAny("/value/messages", facts{
			id: composite(at("/id")), kind: fixed("message"), detail: at("/type"), occurred: sent,
		}.of),
		eachIfAny("/value/statuses", facts{
			id: whatsAppStatus, kind: fixed("status"), detail: at("/status"), occurred: sent,
		}.of),
	)(d)
}

// whatsAppStatus is the key of a status: in a group each participant has one.
func whatsAppStatus(d *document) (string, error) {
	fields := []field{at("/id"), at("/status")}
	if participant := at("/recipient_participant_id"); participant.optional(d) != "" {
		fields = append(fields, participant)
	}
	return composite(fields...)(d)
}
