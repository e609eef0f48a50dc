package ledger

// Request is what an effect sends, as rendered. Destinations give it a
// meaning: for http it is the request, for email Body is the message.
type Request struct {
	Method      string
	URL         string              // empty: the destination's own, fixed by the first claim
	Headers     map[string][]string // without secrets; those are added at each attempt
	ContentType string
	// Body is nil when FromDelivery is set.
	Body []byte
	// FromDelivery sends the event as it came: its delivery's body, or the
	// event's own part of it.
	FromDelivery bool
	// Late tells that the request is not rendered yet: the first attempt fixes
	// it with FixRequest before it calls anybody. All else is empty until then.
	Late bool
}

// body is what the ledger stores: NULL for the event as it came.
func (r Request) body() []byte {
	switch {
	case r.FromDelivery, r.Late:
		return nil
	case r.Body == nil:
		return []byte{}
	}
	return r.Body
}

// How far the request of an effect is rendered, as the ledger says it.
const (
	renderingDone   = "done"
	renderingLate   = "late"
	renderingFailed = "failed"
)
